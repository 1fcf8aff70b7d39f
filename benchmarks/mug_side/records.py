"""What is still recorded when the server is killed in mid-episode."""

import random
import tempfile
from dataclasses import dataclass
from pathlib import Path

from playwright.sync_api import Browser, Page

from mug_side import pages
from mug_side.servers import LAMP, Mug, mug, studio
from tests.studio.browser import playing
from tests.studio.studio_process import lengths

UNTIL: int = 200
"""Steps, of the 300 of an episode in MUG, that are played before the server is killed."""
STEP: str = "() => window.game?.step_num ?? 0"


@dataclass(frozen=True)
class Record:
    """Steps of an episode.

    Attributes:
      played: when the server was killed.
      on_disk: of these.
      later: on disk after the server was started again and the page, which stayed open, had played to the end;
        None: there is nothing to wait for.
    """

    played: int
    on_disk: int
    later: int | None = None


def mug_in_page(browser: Browser, python: Path, libraries: Path) -> Record:
    """The page steps; it sends what it kept when an episode is over."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        with mug(python, "short", Path(folder)) as server:
            page = pages.mug_page(browser, server.url, libraries)
            pages.begin_mug(page)
            while (played := page.evaluate(STEP)) < UNTIL:
                _press(page)
            server.process.kill()
            server.process.wait()
            rows = sum(server.rows())
        with mug(python, "short", Path(folder), server.port) as again:
            page.wait_for_function("() => window.game?.state === 'done'", timeout=pages.WAIT_MS)
            page.wait_for_timeout(5000)  # it connects again within this time, and sends what it has not sent
            later = sum(again.rows())
        page.context.close()
    return Record(played, rows, later)


def mug_on_server(browser: Browser, python: Path, libraries: Path) -> int:
    """Rows that MUG writes of a whole episode that its server stepped, with nothing killed."""
    with mug(python, "brief") as server:
        page = pages.mug_page(browser, server.url, libraries)
        pages.begin_mug(page)
        page.wait_for_function("() => window.serverAuthoritative === false", timeout=pages.WAIT_MS)
        page.wait_for_timeout(3000)
        page.context.close()
        return _rows(server)


def _rows(server: Mug) -> int:
    return sum(server.rows())


def studio_killed(browser: Browser) -> Record:
    """Server and worker are killed at the same time."""
    with tempfile.TemporaryDirectory() as folder, studio(Path(folder) / "studio") as server:
        study = server.designer.study("Lamp", LAMP, instructions="Go on.")
        page = pages.studio_page(browser, server.person("participant", "ann"), study)
        while (played := int(playing.fact(page, "Step"))) < UNTIL:
            _press(page)
        server.kill(with_workers=True)
        page.context.close()
        dataset = server.recordings / study["id"] / study["environments"][0]["id"]
        return Record(played, sum(lengths(dataset)))


def _press(page: Page) -> None:
    key = random.choice(("ArrowLeft", "ArrowRight"))
    page.keyboard.press(key, delay=60)
    page.wait_for_timeout(100)
