"""The demo, after the installation that the documentation names: in an environment with the extra `studio` alone."""

import subprocess
import sys
import venv
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Page, expect

from rlds_kit.studio.demo import DEMOS
from tests.studio.browser import playing
from tests.studio.browser.conftest import Console
from tests.studio.studio_process import Api, StudioProcess, running

CHECKOUT: Final = Path(__file__).parents[3]
INSTALL_SECONDS: Final = 1500
"""For pip, which may build the wheel, and have to fetch everything."""
pytestmark = [pytest.mark.slow, pytest.mark.timeout(2 * INSTALL_SECONDS)]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment into which a wheel of this checkout was installed, with one extra."""
    directory = tmp_path_factory.mktemp("installed")
    _pip(Path(sys.executable), "wheel", "--no-deps", "--wheel-dir", str(directory), str(CHECKOUT))
    (wheel,) = directory.glob("*.whl")
    venv.create(directory / "venv", with_pip=True)
    python = directory / "venv" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    _pip(python, "install", "--prefer-binary", f"rlds-kit[studio] @ {wheel.as_uri()}")
    return python


def _pip(python: Path, *arguments: str) -> None:
    done = subprocess.run(
        [python, "-m", "pip", "--disable-pip-version-check", "--quiet", *arguments],
        capture_output=True,
        text=True,
        timeout=INSTALL_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr


@pytest.fixture(scope="module")
def demo(installed: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """The studio with its demo."""
    with running(tmp_path_factory.mktemp("demo") / "studio", "--demo", python=installed) as studio:
        yield studio


@pytest.fixture
def open_demo(browser: Browser, console: Console) -> Iterator[Callable[[Api, str], Page]]:
    """Opens a page of the demo as somebody."""
    contexts = []

    def opened(person: Api, path: str) -> Page:
        context = browser.new_context(base_url=person.url, reduced_motion="reduce")
        contexts.append(context)
        context.on("page", console.watch)
        context.add_cookies([{"name": person.cookie, "value": str(person.token), "url": person.url}])
        page = context.new_page()
        page.goto(f"/{path}")
        return page

    yield opened
    for each in contexts:
        each.close()


def test_nothing_of_the_demo_is_left_out(demo: StudioProcess) -> None:
    """Lunar lander neither, where Box2D has a wheel."""
    names = {study["name"] for study in demo.designer.get("studies")["studies"]}
    missing = {content.name for content in DEMOS} - names
    assert missing <= (set() if sys.version_info < (3, 14) else {"Lunar lander"}), "".join(demo.said)


@pytest.mark.parametrize("number", range(len(DEMOS)))
def test_every_study_of_the_demo_is_played(
    number: int, demo: StudioProcess, open_demo: Callable[[Api, str], Page]
) -> None:
    """A participant plays each environment in Chromium: steps are done and drawn, and the episode is saved."""
    study = next((each for each in demo.designer.get("studies")["studies"] if each["name"] == DEMOS[number].name), None)
    if study is None:
        pytest.skip(f"{DEMOS[number].name} needs what has no wheel for this Python")
    person = demo.person("participant", "ann")
    for place, environment in enumerate(study["environments"]):
        page = open_demo(person, playing.link(study, place))
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        playing.begin(page)
        page.keyboard.down("ArrowLeft")  # an action of every one; time may pass only while a key is held
        page.wait_for_function(
            "() => Number(document.querySelector('.status-line dl > div:nth-child(2) dd').textContent)"
        )
        page.keyboard.up("ArrowLeft")
        assert "pip" not in page.locator("body").inner_text()
        asked = page.get_by_role("dialog")
        if not asked.is_visible():
            page.get_by_role("toolbar").get_by_role("button", name="End episode").click()
        expect(asked).to_be_visible()
        playing.save(page)
        rows = [each for each in person.episodes(study=study["id"]) if each["environment"] == environment["id"]]
        (row,) = [each for each in rows if each["status"] == "completed"]  # the next one is ready
        assert row["steps"] > 0
        page.close()
