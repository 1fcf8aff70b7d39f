"""The table of episodes: filters, sorting, pages, and what is done with many at once."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import rlds_kit
from rlds_kit import layers
from rlds_kit.logger import EpisodeWriter
from tests.studio.browser.conftest import PHONE, Console
from tests.studio.browser.viewing import ABSENT, looking, record_many, viewing

pytestmark = pytest.mark.thorough

EPISODES = 60


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """Sixty episodes, the third of which is tagged, and the link to look at them."""
    directory = tmp_path_factory.mktemp("episodes") / "many"
    record_many(directory, EPISODES)
    dataset = rlds_kit.open(directory)
    dataset.annotate("review", [layers.tag(dataset.episodes[3], "odd")], source="ann")
    with viewing(directory) as link:
        yield directory, link


@pytest.fixture
def page(many: tuple[Path, str], browser: Browser, console: Console) -> Iterator[Page]:
    """The table."""
    with looking(browser, console, many[1]) as page:
        expect(_rows(page)).to_have_count(50)
        yield page


def _rows(page: Page) -> Locator:
    return page.locator("tbody tr")


def _column(page: Page, name: str) -> list[str]:
    return page.locator(f"tbody td.{name}").all_inner_texts()


def test_pages(page: Page) -> None:
    """The table has pages, whose number is in the link."""
    expect(page.get_by_text("Page 1 of 2")).to_be_visible()
    page.get_by_role("button", name="Next →").click()
    expect(_rows(page)).to_have_count(EPISODES - 50)
    expect(page).to_have_url(re.compile("page=1"))
    expect(page.get_by_role("button", name="Next →")).to_be_disabled()
    page.go_back()
    expect(_rows(page)).to_have_count(50)
    page.get_by_role("combobox", name="Rows").select_option("25")
    expect(page.get_by_text("Page 1 of 3")).to_be_visible()


def test_sorting(page: Page) -> None:
    """A heading sorts, a second click turns it around; the heading says so to those who cannot see the arrow."""
    page.get_by_role("button", name="Return").click()
    heading = page.get_by_role("columnheader", name="Return")
    expect(heading).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("tbody td.total").first).to_have_text("0")
    page.get_by_role("button", name="Return").click()
    expect(heading).to_have_attribute("aria-sort", "descending")
    expect(page.locator("tbody td.total").first).to_have_text(str(EPISODES - 1))
    assert _column(page, "total") == [str(number) for number in range(EPISODES - 1, EPISODES - 51, -1)]


def test_filters_are_in_the_link(page: Page, many: tuple[Path, str], browser: Browser, console: Console) -> None:
    """What is filtered can be sent to somebody, and cleared."""
    page.get_by_role("spinbutton", name="Steps from").fill("8")
    expect(_rows(page)).to_have_count(8)
    assert set(_column(page, "steps")) == {"8"}
    expect(page.get_by_role("status").first).to_have_text(f"8 of {EPISODES} episodes")
    with looking(browser, console, many[1], page.url[page.url.index("#") :]) as other:
        expect(_rows(other)).to_have_count(8)
        expect(other.get_by_role("spinbutton", name="Steps from")).to_have_value("8")
    page.get_by_role("button", name="Clear", exact=True).click()
    expect(_rows(page)).to_have_count(50)


def test_filters_are_set_faster_than_they_are_shown(page: Page) -> None:
    """What was typed just before something was chosen counts as well."""
    page.get_by_role("spinbutton", name="Steps from").fill("5")
    page.get_by_role("spinbutton", name="to").fill("6")
    page.get_by_role("combobox", name="Tag").select_option("odd")
    expect(page).to_have_url(re.compile("tag=odd&shortest=5&longest=6$"))
    expect(_rows(page)).to_have_count(1)
    expect(page.get_by_role("spinbutton", name="Steps from")).to_have_value("5")


def test_what_fits_nothing_says_so(page: Page) -> None:
    page.get_by_role("searchbox", name="Search").fill("no such thing")
    expect(page.get_by_role("heading", name="No episode fits")).to_be_visible()
    page.get_by_role("button", name="Clear the filters").click()
    expect(_rows(page)).to_have_count(50)


def test_tags_filter(page: Page) -> None:
    """Only episodes with a tag are listed."""
    page.get_by_role("combobox", name="Tag").select_option("odd")
    expect(_rows(page)).to_have_count(1)
    expect(page.locator("tbody .label")).to_have_text("odd")


def test_many_are_tagged_together(page: Page, many: tuple[Path, str]) -> None:
    """A click and a click with Shift choose five; one label for all; who had it already is counted."""
    boxes = page.locator("tbody").get_by_role("checkbox")
    boxes.nth(1).click()
    boxes.nth(5).click(modifiers=["Shift"])
    bar = page.get_by_role("toolbar", name="Selected episodes")
    expect(bar).to_contain_text("5 episodes selected")
    label = bar.get_by_role("combobox", name="Tag the selected episodes")
    label.fill("odd")
    bar.get_by_role("button", name="Add tag").click()
    expect(page.get_by_role("region", name="Messages")).to_contain_text("Tagged 4 episodes “odd”; 1 had it already.")
    expect(page.locator("tbody .label")).to_have_count(5)
    tagged = [number for number, each in enumerate(rlds_kit.open(many[0]).episodes) if "odd" in each.tags]
    assert tagged == [1, 2, 3, 4, 5]


def test_all_pages_are_selected(page: Page) -> None:
    """The box above selects the page, a button all that the filters leave."""
    page.get_by_role("checkbox", name="Select all of this page").check()
    bar = page.get_by_role("toolbar", name="Selected episodes")
    expect(bar).to_contain_text("50 episodes selected")
    bar.get_by_role("button", name=f"Select all {EPISODES}").click()
    expect(bar).to_contain_text(f"{EPISODES} episodes selected")
    bar.get_by_role("button", name="Select none").click()
    expect(bar).to_contain_text("Select episodes")


def test_with_the_keyboard_alone(page: Page) -> None:
    """Space selects, arrows go from row to row, Enter opens."""
    page.locator("tbody").get_by_role("checkbox").first.focus()
    page.keyboard.press("Space")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Space")
    expect(page.locator("tbody tr.selected")).to_have_count(2)
    page.keyboard.press("Tab")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Episode 1", exact=True)).to_be_visible()


def test_the_replay_goes_on_as_the_table_was(page: Page) -> None:
    """From one episode the key j goes to the next one of the table, as it was sorted and filtered."""
    page.get_by_role("button", name="Return").click()
    page.get_by_role("button", name="Return").click()
    expect(page.locator("tbody td.total").first).to_have_text(str(EPISODES - 1))
    page.locator("tbody a").first.click()
    expect(page.get_by_role("heading", name=f"Episode {EPISODES - 1}", exact=True)).to_be_visible()
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name=f"Episode {EPISODES - 2}", exact=True)).to_be_visible()
    page.get_by_role("main").get_by_role("link", name="Episodes").click()
    expect(page.locator("tbody td.total").first).to_have_text(str(EPISODES - 1))


def test_cards_on_a_phone(many: tuple[Path, str], browser: Browser, console: Console) -> None:
    """Rows become cards that are no wider than the screen."""
    with looking(browser, console, many[1], viewport=PHONE, has_touch=True) as page:
        expect(_rows(page)).to_have_count(50)
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.locator("tbody").get_by_role("checkbox").first.tap()
        expect(page.get_by_role("toolbar", name="Selected episodes")).to_be_in_viewport()


def test_episodes_appear_while_they_are_recorded(tmp_path: Path, browser: Browser, console: Console) -> None:
    """A dataset that is empty says so; the first episode appears without a reload, and grows in its replay."""
    with EpisodeWriter(tmp_path / "new", record_time=False) as writer, writer.episode() as episode:
        episode.start(0.0)
        episode.step(action=1, reward=1.0, observation=1.0)
        writer.flush()
        with viewing(tmp_path / "new") as link, looking(browser, console, link) as page:
            expect(_rows(page)).to_have_count(1)
            expect(page.locator("tbody .chip")).to_have_text("open")
            page.locator("tbody a").click()
            expect(page.get_by_text("being recorded")).to_be_visible()
            page.keyboard.press("End")
            action = page.locator(".step-facts > div", has_text="Action").locator("dd")
            expect(action).to_have_text(ABSENT)
            episode.step(action=2, reward=1.0, observation=2.0, terminated=True)
            writer.flush()
            expect(page.get_by_role("slider", name="Step")).to_have_attribute("max", "2")
            expect(action).to_have_text("2")
