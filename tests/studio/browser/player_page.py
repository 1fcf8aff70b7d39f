"""The player of a study that a test has made, and what it tells the server."""

from collections.abc import Mapping
from typing import Any, Final

from playwright.sync_api import Page, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import Open
from tests.studio.studio_process import CORRIDOR, Api

PRESSED: Final[Mapping[str, Any]] = {"environment": CORRIDOR, "turn": "press"}
"""A corridor of three steps to either side, one for each press."""
TIMED: Final[Mapping[str, Any]] = {"environment": "MountainCar-v0", "turn": "clock", "fps": 20.0}
"""What goes on by itself."""
_SENT: Final = """
    window.sent = [];
    const send = WebSocket.prototype.send;
    WebSocket.prototype.send = function (data) { sent.push(JSON.parse(data)); return send.call(this, data); };
"""


def listen(page: Page) -> None:
    """Has a page that loads nothing yet keep what it tells the server, for `sent`."""
    page.add_init_script(f"(() => {{{_SENT}}})()")


def opened(open_page: Open, api: Api, environment: Mapping[str, Any], **options: Any) -> Page:
    """The player of a new study, before the start; `sent` is what it tells the server."""
    study = api.study("A study to play", environment, instructions="Go on.")
    page = open_page(playing.link(study), prepare=listen, **options)
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    return page


def begun(open_page: Open, api: Api, environment: Mapping[str, Any], **options: Any) -> Page:
    """The player of a new study, whose first episode runs and is seen."""
    page = opened(open_page, api, environment, **options)
    playing.begin(page)
    page.wait_for_function("() => sent.some(({ type }) => type === 'ack')")
    return page


def sent(page: Page, kind: str) -> list[dict[str, Any]]:
    """Messages of a type that the page has sent."""
    found: list[dict[str, Any]] = page.evaluate("(kind) => sent.filter(({ type }) => type === kind)", kind)
    return found


def held(page: Page) -> list[dict[str, float]]:
    """What the page said is held, each time that it changed."""
    return [each["held"] for each in sent(page, "keys")]


def pixels(page: Page) -> list[list[int]]:
    """Grey values of the canvas, row by row."""
    found: list[list[int]] = page.locator(".arena canvas").evaluate(
        """(canvas) => {
            const { width, height } = canvas;
            const copy = new OffscreenCanvas(width, height).getContext("2d", { willReadFrequently: true });
            copy.drawImage(canvas, 0, 0);
            const { data } = copy.getImageData(0, 0, width, height);
            const row = (y) => Array.from({ length: width }, (_, x) => data[4 * (y * width + x)]);
            return Array.from({ length: height }, (_, y) => row(y));
        }"""
    )
    return found
