"""Names that are as long as people may make them, without a space: nothing sticks out of its place, on no page."""

import re
from collections.abc import Callable, Iterator
from typing import Any, Final

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

from rlds_kit.logger import EpisodeWriter
from tests.studio.browser import playing
from tests.studio.browser.conftest import DESKTOP, PHONE, Console, Open
from tests.studio.browser.viewing import looking, replaying, viewing
from tests.studio.player import played
from tests.studio.studio_process import Api, StudioProcess

pytestmark = pytest.mark.thorough

LONG: Final = "Längster" * 25
"""200 characters, which is the most that the studio takes."""
ENVIRONMENT: Final = "rlds_kit_tests/Eyes-v0"
LOOKS: Final = {"desk": {"viewport": DESKTOP}, "phone": {"viewport": PHONE, "has_touch": True, "is_mobile": True}}
STICKING_OUT: Final = """() => {
    const found = [];
    const { clientWidth } = document.documentElement;
    for (const element of document.querySelectorAll("body, body *")) {
        if (!element.checkVisibility() || element.closest(".unseen, .cards thead, .u-wrap, svg, option")) continue;
        const { overflowX, display } = getComputedStyle(element);
        const { left, right } = element.getBoundingClientRect();
        const isScrolled = element.parentElement.closest(".table-frame, .array, pre, nav") !== null;
        const isFull = display !== "inline" && overflowX === "visible" && element.scrollWidth > element.clientWidth + 1
            && !element.matches("select, .editor, .play, .play-columns"); // parts of these reach into the margin
        if (isFull || (!isScrolled && right > left && (right > clientWidth + 1 || left < -1)))
            found.push(`${element.cloneNode().outerHTML.slice(0, 90)}: ${left} to ${right}, ${element.scrollWidth}`);
    }
    return found;
}"""


def assert_fits(page: Page) -> None:
    """Nothing is wider than the window, and nothing wider than what it stands in."""
    assert "\n".join(page.evaluate(STICKING_OUT)) == ""


@pytest.fixture(scope="module")
def named(studio: StudioProcess) -> tuple[Api, dict[str, Any], str]:
    """A person, a study and an episode, all with long names, and everything that can be said of an episode."""
    person = studio.person("reviewer", LONG)
    environment = {"name": LONG, "environment": ENVIRONMENT, "turn": "press", "instructions": f"# {LONG}\n\n`{LONG}`"}
    others = {**environment, "name": f"{LONG[1:]}2"}
    study = studio.designer.study(LONG, environment, others, instructions=LONG, description=LONG)
    (episode,) = played(person, study, 2)
    for kind, steps in (("tag", None), ("tag", [0, 2]), ("note", None)):
        person.post(f"replay/{episode}/annotations", kind=kind, text=LONG, steps=steps)
    return person, study, episode


def listed(page: Page) -> None:
    """The list of studies, and what a switch says of one."""
    expect(page.get_by_role("heading", name=LONG)).to_be_visible()
    page.get_by_role("switch", name=f"Open “{LONG}” to others").click()
    expect(page.get_by_role("status").filter(has_text="is closed to others")).to_be_visible()
    assert_fits(page)
    page.get_by_role("switch", name=f"Open “{LONG}” to others").click()
    expect(page.get_by_role("status").filter(has_text="Everybody with the link")).to_be_visible()


def headed(page: Page) -> None:
    """The page of a study, or its editor."""
    expect(page.get_by_role("heading", level=1)).to_be_visible()
    expect(page.get_by_text("Loading…")).to_have_count(0)
    expect(page.get_by_text("Looking up its settings")).to_have_count(0)


def tabled(page: Page) -> None:
    """The table, its toolbar, and the dialog of exports."""
    expect(page.locator("[data-episode]").first).to_be_visible()
    page.locator("tbody").get_by_role("checkbox").first.check()
    bar = page.get_by_role("toolbar", name="Selected episodes")
    bar.get_by_role("combobox").fill(LONG)
    bar.get_by_role("button", name="Add tag").click()
    expect(page.get_by_role("status").filter(has_text="1 had it already")).to_be_visible()
    assert_fits(page)
    bar.get_by_role("button", name="Export…").click()
    dialog = page.get_by_role("dialog", name="Export")
    dialog.get_by_role("button", name=LONG).click()
    assert_fits(page)
    dialog.get_by_role("button", name="Cancel").click()


def replayed(page: Page) -> None:
    """The replay, with everything that was said."""
    expect(page.get_by_role("status").filter(has_text="live")).to_be_visible()
    expect(page.get_by_role("listitem").filter(has_text=LONG)).to_have_count(2)
    page.get_by_text("About this episode").click()


def played_on(page: Page) -> None:
    """The player, before and while one plays, and what is said of the episode."""
    expect(page.get_by_role("button", name="Start")).to_be_visible()
    assert_fits(page)
    playing.begin(page)
    playing.press(page, "ArrowRight")
    assert_fits(page)
    playing.end(page)
    assert_fits(page)
    playing.save(page)


def exported(page: Page) -> None:
    """The page of exports, with one that was made."""
    form = page.get_by_role("region", name="New export")
    name = f"{LONG.replace('ä', 'a')[:79]}"
    form.get_by_role("textbox", name="Name").fill(name)
    form.get_by_role("button", name=LONG).click()
    form.get_by_role("button", name=re.compile("^Export [0-9]")).click()
    made = page.get_by_role("article", name=f"Export {name}").first
    expect(made.get_by_role("link", name="Download")).to_be_visible(timeout=120_000)
    made.get_by_text("Fields", exact=True).click()
    assert_fits(page)
    made.get_by_role("button", name="Delete").click()


Places = dict[str, Callable[[Page], None]]
OF_DESIGNERS: Final[Places] = {"#studies": listed, "#edit?id={study}": headed}
OF_PEOPLE: Final[Places] = {
    "#study?id={study}": headed,
    "#episodes?study={study}&user=me&sort=started&size=25": tabled,
    "#replay?episode={episode}": replayed,
    "#export?study={study}&tag=" + LONG: exported,
    "#play?study={study}&environment={environment}": played_on,
}


@pytest.mark.parametrize("look", LOOKS)
def test_long_names_fit(look: str, open_page: Open, studio: StudioProcess, named: Any) -> None:
    """Of people, studies, environments, tags, notes and exports."""
    person, study, episode = named
    ids = {"study": study["id"], "environment": study["environments"][0]["id"], "episode": episode}
    for who, places in ((studio.designer, OF_DESIGNERS), (person, OF_PEOPLE)):
        page = open_page("#invite", person=who, **LOOKS[look])
        for place, ready in places.items():
            page.goto(f"/{place.format(**ids)}")
            ready(page)
            assert_fits(page)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The link to a dataset whose names are long: its own, of fields, of pictures, and of who looks."""
    dataset = tmp_path_factory.mktemp("named") / LONG[:200]
    pictures = {f"{LONG}{eye}": np.zeros((8, 8, 3), np.uint8) for eye in ("left", "right")}
    observation = {**pictures, "text": LONG, "number": np.float32(1)}
    with EpisodeWriter(dataset, record_time=False) as writer, writer.episode(metadata={"task": LONG}) as episode:
        episode.start(observation)
        episode.step(action=LONG, reward=1.0, discount=1.0, observation=observation, truncated=True)
    with viewing(dataset, LONG) as link:
        yield link


@pytest.mark.parametrize("look", LOOKS)
def test_long_names_of_a_dataset_fit(look: str, browser: Browser, console: Console, recorded: str) -> None:
    """In the table and in the replay of `rlds-kit view`."""
    with looking(browser, console, recorded, **LOOKS[look]) as page:
        expect(page.locator("[data-episode]")).to_have_count(1)
        assert_fits(page)
    with replaying(browser, console, recorded, **LOOKS[look]) as page:
        page.get_by_role("combobox", name="Tag the episode (e)").fill(f"{look}{LONG}"[:200])
        page.keyboard.press("Enter")
        expect(page.get_by_role("region", name="Tags of the episode").locator(".label").first).to_be_visible()
        assert_fits(page)
