"""Pages of both systems in Chromium: opened, begun, and asked when a key has changed the picture."""

import random
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from playwright.sync_api import Browser, Page, sync_playwright

from mug_side import vendor
from tests.studio.browser import playing
from tests.studio.browser.conftest import FLAGS
from tests.studio.studio_process import Api

AWAKE: Final = (
    "--disable-features=WebRtcHideLocalIpsWithMdns",  # as MUG's own tests: two pages find each other
    "--disable-background-timer-throttling",
    "--disable-backgrounding-occluded-windows",
    "--disable-renderer-backgrounding",
)
WAIT_MS: Final = 90_000
MUG_SIDE: Final = "() => { const lamp = _phaserScene.objectMap.get('lamp'); return lamp ? +(lamp.x > 150) : -1; }"
STUDIO_SIDE: Final = """() => {
  const canvas = document.querySelector(".arena canvas");
  const x = Math.floor(canvas.width * 3 / 4), y = Math.floor(canvas.height / 2);
  return +(canvas.getContext("2d").getImageData(x, y, 1, 1).data[0] < 128);
}"""
STUDIO_SUM: Final = """() => {
  const canvas = document.querySelector(".arena canvas");
  const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height);
  return new Uint32Array(data.buffer).reduce((found, pixel) => (Math.imul(found, 31) + pixel) | 0, 0);
}"""
WATCH: Final = """
(seen) => {
  const look = eval(seen);
  window.answers = [];
  addEventListener("keydown", (event) => {
    if (!event.code.startsWith("Arrow") || event.repeat) return;
    const before = look(), began = performance.now();
    const wait = () => {
      if (look() !== before) answers.push(performance.now() - began);
      else if (performance.now() - began < 5000) requestAnimationFrame(wait);
      else answers.push(null);
    };
    requestAnimationFrame(wait);
  }, { capture: true });
}
"""
"""Looks before each frame of the screen, and notes the first that has another picture."""


@contextmanager
def chromium() -> Iterator[Browser]:
    """A browser without a window."""
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[*FLAGS, *AWAKE])
        yield browser
        browser.close()


def mug_page(browser: Browser, url: str, folder: Path) -> Page:
    """A page of MUG at the button that begins the game."""
    context = browser.new_context()
    vendor.answer(context, folder)
    page = context.new_page()
    enter_mug(page, url)
    return page


def enter_mug(page: Page, url: str) -> None:
    """Goes on from the welcome."""
    page.goto(url)
    page.locator("#advanceButton").click(timeout=WAIT_MS)


def begin_mug(page: Page, lamp: str = "lamp") -> None:
    """Begins, and waits for the picture."""
    page.locator("#startButton").click(timeout=WAIT_MS)
    page.wait_for_function("(name) => window._phaserScene?.objectMap.has(name)", arg=lamp, timeout=WAIT_MS)


def studio_page(browser: Browser, person: Api, study: Mapping[str, Any]) -> Page:
    """A page of the studio whose episode runs."""
    page = logged_in(browser, person, playing.link(study))
    playing.begin(page)
    page.wait_for_function("() => document.querySelector('.arena canvas')?.width > 0", timeout=WAIT_MS)
    return page


def logged_in(browser: Browser, person: Api, path: str, script: str = "") -> Page:
    """A page of the studio.

    Args:
      browser: that opens it.
      person: whose page it is.
      path: after the address of the studio.
      script: that runs before those of the page.
    """
    context = browser.new_context(base_url=person.url, reduced_motion="reduce")
    if person.token is None:
        raise ValueError("expected a person who is logged in")
    context.add_cookies([{"name": person.cookie, "value": person.token, "url": person.url}])
    context.add_init_script(script)
    page = context.new_page()
    page.goto(f"/{path}")
    return page


def latencies(page: Page, look: str, presses: int, seed: int, hold_ms: float = 100.0) -> list[float]:
    """Milliseconds from each press to the frame of the screen that has another picture; the keys go by turns.

    Args:
      page: that plays.
      look: what changes, as JavaScript.
      presses: how many.
      seed: of the moments.
      hold_ms: how long a key stays down; MUG's page looks at keys once a step, and misses shorter presses.
    """
    draw = random.Random(seed)
    page.evaluate(WATCH, look)
    for press in range(presses):
        page.wait_for_timeout(draw.uniform(250, 350))
        page.keyboard.press("ArrowLeft" if press % 2 else "ArrowRight", delay=hold_ms)
        page.wait_for_function("(count) => answers.length === count", arg=press + 1)
    found: list[float | None] = page.evaluate("answers")
    if None in found:
        raise RuntimeError("a key changed nothing within five seconds")
    return [each for each in found if each is not None]
