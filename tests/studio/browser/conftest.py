"""A studio, and Chromium in front of it. A test fails where the page logs an error or breaks its own policy (CSP).

`pytest tests/studio/browser/test_{pages,tasks}.py -m thorough --screenshots docs/images` writes the pictures of the
documentation anew.
"""

import asyncio
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, WebSocket, expect, sync_playwright

from tests.studio.browser.gamepad import Gamepad
from tests.studio.studio_process import Api, StudioProcess, running

FLAGS: Final = (
    "--headless=new",
    "--no-sandbox",  # containers of CI let nobody make one
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PATIENCE_MS: Final = 30_000
DESKTOP: Final[Any] = {"width": 1200, "height": 800}
PHONE: Final[Any] = {"width": 390, "height": 844}


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds --screenshots."""
    parser.addoption("--screenshots", type=Path, metavar="DIR", help="write pictures of the pages into this directory")


def _chromium() -> str:
    """Debian's, or any other that is installed."""
    found = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
    if found is None:
        pytest.skip("Chromium is not installed (Debian: apt-get install chromium)")
    return found


@pytest.fixture(scope="session")
def chromium() -> Iterator[Browser]:
    """One for all tests of this process."""
    path = _chromium()
    expect.set_options(timeout=PATIENCE_MS)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        asyncio._set_running_loop(None)
        yield launched
        asyncio._set_running_loop(launched._loop)
        launched.close()


@pytest.fixture
def browser(chromium: Browser) -> Iterator[Browser]:
    """The same, while a test runs.

    Playwright leaves its event loop marked as the one that runs in this thread; other tests run loops of their own.
    """
    asyncio._set_running_loop(chromium._loop)
    yield chromium
    asyncio._set_running_loop(None)


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio that all tests of this process share; each makes studies of its own."""
    with running(tmp_path_factory.mktemp("studio")) as studio:
        yield studio


@pytest.fixture
def api(studio: StudioProcess) -> Api:
    """Requests of the designer."""
    return studio.designer


HARMLESS: Final = (
    "willReadFrequently",  # tests read pictures back
    "closed before the connection is established",  # somebody went on before a page was ready
)


class Console:
    """What pages complained of."""

    def __init__(self) -> None:
        self._said: list[str] = []
        self._expected = list(HARMLESS)

    def expect(self, pattern: str) -> None:
        """Something that the test brings about, such as "status of 403"."""
        self._expected.append(pattern)

    def watch(self, page: Page) -> None:
        """Listens to a page."""
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self._said.append(f"{error} {getattr(error, 'stack', '')}"))

    def _hear(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"}:
            self._said.append(f"{message.type}: {message.text} ({message.location.get('url', '')})")

    @property
    def unexpected(self) -> list[str]:
        """What nobody expected."""
        return [each for each in self._said if not any(re.search(pattern, each) for pattern in self._expected)]


@pytest.fixture
def console() -> Iterator[Console]:
    """Fails a test whose pages complain of something that it does not expect."""
    console = Console()
    yield console
    assert console.unexpected == []


Open = Callable[..., Page]


@pytest.fixture
def open_page(browser: Browser, console: Console, studio: StudioProcess) -> Iterator[Open]:
    """Opens `open_page("#studies")` in a new browser, with the designer logged in.

    `person=studio.person("participant", "ann")` is somebody else, `person=Api(studio.url)` nobody, and of another
    studio, if it is one of its. `prepare` is given the page before it loads anything. `viewport=PHONE` and
    `color_scheme="dark"` are Playwright's.
    """
    contexts: list[BrowserContext] = []
    sessions: dict[str, Api] = {}

    def opened(
        path: str = "", *, person: Api | None = None, prepare: Callable[[Page], None] | None = None, **options: Any
    ) -> Page:
        who = person or studio.designer
        options = {"viewport": DESKTOP, "reduced_motion": "reduce", **options}
        context = browser.new_context(base_url=who.url, **options)
        contexts.append(context)
        context.set_default_timeout(PATIENCE_MS)
        context.on("page", console.watch)
        if who.token is not None:
            context.add_cookies([{"name": who.cookie, "value": who.token, "url": who.url}])
        if who.url == studio.url:
            context.on("page", lambda page: page.on("websocket", lambda socket: _note(socket, who, sessions)))
        page = context.new_page()
        if prepare is not None:
            prepare(page)
        page.goto(f"/{path}")
        return page

    yield opened
    for context in contexts:
        context.close()
    for session, who in sessions.items():  # their environments wait for their people, and there are not many places
        who.ask("POST", f"sessions/{session}/end")


def _note(socket: WebSocket, who: Api, sessions: dict[str, Api]) -> None:
    for session in re.findall(r"/ws/play\?session=(\w+)", socket.url):
        sessions[session] = who


@pytest.fixture
def page(open_page: Open) -> Page:
    """The page, as the designer sees it first."""
    return open_page()


@pytest.fixture
def gamepad() -> Callable[[Page], Gamepad]:
    """What plugs a gamepad into a page, which must be open."""
    return Gamepad


Save = Callable[..., None]


@pytest.fixture
def screenshot(request: pytest.FixtureRequest) -> Save:
    """`screenshot(page, "player")` writes studio_player.png if pytest was told where; `is_whole`: all of the page."""
    directory = request.config.getoption("--screenshots", default=None)

    def save(page: Page, name: str, *, is_whole: bool = False) -> None:
        if directory is not None:
            directory.mkdir(parents=True, exist_ok=True)
            page.evaluate("document.fonts.ready")
            path = directory / f"studio_{name}.png"
            if is_whole:  # and what sticks to the bottom of the window is there
                before: Any = page.viewport_size
                height = page.evaluate("document.documentElement.scrollHeight")
                page.set_viewport_size({"width": before["width"], "height": height})
            page.screenshot(path=path, animations="disabled", caret="hide", full_page=is_whole)
            if is_whole:
                page.set_viewport_size(before)

    return save
