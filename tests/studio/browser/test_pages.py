"""Every page, on a desk and on a phone, in light and dark: it fits, and has a title and a heading."""

from collections.abc import Callable
from typing import Any, Final

import pytest
from playwright.sync_api import Page, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import DESKTOP, PHONE, Console, Open, Save
from tests.studio.player import played
from tests.studio.studio_process import Api, StudioProcess

GAME: Final = {
    "name": "Breakout",
    "environment": "ALE/Breakout-v5",
    "kwargs": {"frameskip": 4, "repeat_action_probability": 0.0},
    "turn": "press",
    "instructions": "Space serves the ball. **Clear the wall.**",
}
TEXTS: Final[dict[str, Any]] = {
    "description": "How people learn to serve",
    "instructions": "# What to do\n\nPlay until all lives are lost.\n\n- arrows move\n- Space serves",
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
    """The player, in the middle of an episode."""
    playing.begin(page)
    playing.press(page, *KEYS)


def asked(page: Page) -> None:
    """The question what becomes of an episode."""
    under_way(page)
    playing.end(page)


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
    "export": ("#export?study={study}", shown),
    "invite": ("#invite", shown),
    "start": ("#play?study={study}&environment={environment}", waiting),
    "player": ("#play?study={study}&environment={environment}", under_way),
    "save": ("#play?study={study}&environment={environment}", asked),
}


IN_DARK: Final = ("player", "replay")
TALL: Final = ("editor", "replay")


@pytest.mark.parametrize(
    ("name", "look"),
    [(name, look) for name in PAGES for look in LOOKS if look != "_dark" or name in IN_DARK],
)
def test_every_page_fits(
    name: str, look: str, open_page: Open, screenshot: Save, wall: tuple[dict[str, Any], str]
) -> None:
    """Nothing is wider than the window, on a phone either; and it has a title and one heading."""
    study, episode = wall
    place, ready = PAGES[name]
    ids = {"study": study["id"], "environment": study["environments"][0]["id"], "episode": episode}
    page = open_page(place.format(**ids), **LOOKS[look])
    ready(page)
    if look == "" or f"{name}{look}" in {"player_phone", "replay_dark"}:
        screenshot(page, f"{name}{look}", is_whole=name in TALL)
    assert page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth")
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    assert page.title()
    unnamed = page.evaluate(
        """() => [...document.querySelectorAll("button, a[href], input, select, textarea")]
            .filter((each) => each.checkVisibility() && !each.labels?.length && !each.textContent.trim()
                && !each.getAttribute("aria-label") && !each.title && each.type !== "hidden")
            .map((each) => each.outerHTML)"""
    )
    assert unnamed == []


def test_who_is_not_logged_in_is_asked_to(
    open_page: Open, screenshot: Save, console: Console, studio: StudioProcess
) -> None:
    """Wherever the link leads."""
    console.expect("status of 401")
    nobody = Api(studio.url)
    page = open_page("#studies", person=nobody)
    expect(page.get_by_role("heading", name="Welcome")).to_be_visible()
    screenshot(page, "login")
    nobody.close()
