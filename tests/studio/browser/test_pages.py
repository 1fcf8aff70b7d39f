"""Every page, on a desk and on a phone, in light and dark: it fits, and everybody can read it."""

import re
from collections.abc import Callable
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import DESKTOP, PHONE, Console, Open, Save
from tests.studio.browser.readable import flaws
from tests.studio.player import played
from tests.studio.studio_process import Api, StudioProcess

pytestmark = pytest.mark.thorough

GAME: Final = {
    "name": "Breakout",
    "environment": "ALE/Breakout-v5",
    "kwargs": {"frameskip": 4, "repeat_action_probability": 0.0},
    "turn": "press",
    "instructions": "Space serves the ball. **Clear the wall.**",
}
TEXTS: Final[dict[str, Any]] = {
    "description": "How people learn to serve",
    "instructions": "# What to do\n\nPlay until all lives are lost.\n\n- arrows move\n- `Space` serves\n- [more](https://ale.farama.org/environments/breakout/)",
}
KEYS: Final = ("Space", "ArrowRight", "ArrowRight", "ArrowLeft")
LOOKS: Final[dict[str, dict[str, Any]]] = {
    "": {"viewport": DESKTOP, "color_scheme": "light"},
    "_dark": {"viewport": DESKTOP, "color_scheme": "dark"},
    "_phone": {"viewport": PHONE, "color_scheme": "light", "has_touch": True, "is_mobile": True},
}


@pytest.fixture(scope="module")
def wall(studio: StudioProcess) -> tuple[dict[str, Any], str]:
    """A study in which something was played and tagged, and an episode of it."""
    api = studio.designer
    study = api.study("Breaking the wall", GAME, **TEXTS)
    first, longest, *_ = played(api, study, 12, 80, 33, 7, keys=KEYS)
    for episode, text, steps in ((longest, "good serve", [8, 16]), (longest, "calm", None), (first, "nervous", None)):
        api.post(f"replay/{episode}/annotations", kind="tag", text=text, steps=steps)
    api.post(f"replay/{longest}/annotations", kind="note", text="The first serve goes to the right.", steps=None)
    return study, longest


def waiting(page: Page) -> None:
    """The player, before the start."""
    expect(page.get_by_role("button", name="Start")).to_be_visible()


def under_way(page: Page) -> None:
    """In the middle of an episode."""
    playing.begin(page)
    playing.press(page, *KEYS)


def replaying(page: Page) -> None:
    """The replay, with its picture."""
    expect(page.locator("canvas[data-step='12']").first).to_be_visible()
    expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()


def listed(page: Page) -> None:
    """The table of episodes."""
    expect(page.locator("[data-episode]").first).to_be_visible()


def edited(page: Page) -> None:
    """The editor, with the form of an environment."""
    expect(page.get_by_role("radio", name="Step by step")).to_be_checked()
    expect(page.get_by_text("frameskip").first).to_be_visible()


def chosen(page: Page) -> None:
    """The page of exports, with what would be exported."""
    expect(page.get_by_role("status").filter(has_text=re.compile("[1-9] episodes chosen"))).to_be_visible()


def shown(page: Page) -> None:
    """Any other page."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.locator(".loading")).to_have_count(0)


PAGES: Final[dict[str, tuple[str, Callable[[Page], None]]]] = {
    "studies": ("#studies", shown),
    "study": ("#study?id={study}", shown),
    "editor": ("#edit?id={study}", edited),
    "episodes": ("#episodes?study={study}", listed),
    "replay": ("#replay?episode={episode}&step=12", replaying),
    "export": ("#export?study={study}", chosen),
    "manuals": ("#manuals", shown),
    "manual": ("#manual?name=Skiing", shown),
    "invite": ("#invite", shown),
    "start": ("#play?study={study}&environment={environment}", waiting),
    "player": ("", under_way),
    "save": ("", playing.end),
    "saved": ("", playing.save),
}
"""In order; those without a place follow from the one before."""
TALL: Final = ("editor", "replay")
_NO_PICTURES: Final = {"manual", "manuals", "saved"}
PICTURES: Final = (*(name for name in PAGES if name not in _NO_PICTURES), "player_phone", "replay_dark")
"""Of the documentation."""


@pytest.mark.parametrize("look", LOOKS, ids=lambda look: look.strip("_") or "light")
def test_every_page_fits_and_is_readable(
    look: str, open_page: Open, screenshot: Save, wall: tuple[dict[str, Any], str]
) -> None:
    """Nothing is wider than the window, texts have contrast, controls have names; there is a title and one heading."""
    study, episode = wall
    ids = {"study": study["id"], "environment": study["environments"][0]["id"], "episode": episode}
    page = open_page("#studies", **LOOKS[look])
    found: dict[str, object] = {}
    for name, (place, ready) in PAGES.items():
        if place:
            page.goto(f"/{place.format(**ids)}")
        ready(page)
        if f"{name}{look}" in PICTURES:
            screenshot(page, f"{name}{look}", is_whole=name in TALL)
        if wrong := flaws(page):
            found[name] = wrong
    assert found == {}


def test_who_is_not_logged_in_is_asked_to(
    open_page: Open, screenshot: Save, console: Console, studio: StudioProcess
) -> None:
    console.expect("status of 401")
    nobody = Api(studio.url)
    for look in LOOKS:
        page = open_page("#studies", person=nobody, **LOOKS[look])
        expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
        if not look:
            screenshot(page, "login")
        assert flaws(page) == {}
    nobody.close()


def test_the_first_tab_stop_leads_to_the_content(page: Page) -> None:
    """Past the navigation, without leaving the view."""
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
    page.keyboard.press("Tab")
    skip = page.get_by_role("link", name="Skip to the content")
    expect(skip).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("main")).to_be_focused()
    expect(page.get_by_role("heading", name="Studies")).to_be_visible()
