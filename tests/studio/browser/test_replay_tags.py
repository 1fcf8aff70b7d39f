"""Tags, spans, notes and rewards: said with a few keys, seen by everybody at once, kept as layers of the dataset."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

import rlds_kit
from rlds_kit import layers
from rlds_kit.episode import Episode
from tests.studio.browser.conftest import Console
from tests.studio.browser.viewing import expect_step, looking, open_replay, record_robot, viewing


@pytest.fixture
def dataset(tmp_path: Path) -> Path:
    """A recording that nobody has said anything of."""
    record_robot(tmp_path / "robot")
    return tmp_path / "robot"


@pytest.fixture
def page(dataset: Path, browser: Browser, console: Console) -> Iterator[Page]:
    """Its first step, as ann sees it."""
    with viewing(dataset) as link, looking(browser, console, link) as page:
        open_replay(page)
        yield page


def _episode(dataset: Path) -> Episode:
    return rlds_kit.open(dataset).episodes[0]


def _said(dataset: Path) -> list[tuple[str, object, tuple[int, int] | None, str]]:
    """What counts in the layer, in order of time."""
    return [
        (each.kind.value, each.value, None if each.steps is None else (each.steps.start, each.steps.stop), each.source)
        for each in _episode(dataset).annotations()
    ]


def _tag(page: Page, name: str, text: str) -> None:
    field = page.get_by_role("combobox", name=name)
    field.fill(text)
    field.press("Enter")


def _line(page: Page, steps: str) -> Locator:
    """What is said of some steps, in the list."""
    return page.get_by_role("region", name="Said of steps").get_by_role("listitem").filter(has_text=steps)


def test_tags_of_the_episode(page: Page, dataset: Path) -> None:
    """A label is added, a second time refused with a reason, and taken off."""
    tags = page.get_by_role("region", name="Tags of the episode")
    _tag(page, "Tag the episode (e)", "clean")
    expect(tags.locator(".label")).to_have_text("clean✕")
    _tag(page, "Tag the episode (e)", "clean")
    expect(tags.get_by_role("alert")).to_contain_text("already")
    assert _said(dataset) == [("tag", "clean", None, "ann")]
    tags.get_by_role("button", name="Take off the tag clean").click()
    expect(tags.locator(".label")).to_have_count(0)
    assert _said(dataset) == []


@pytest.fixture(autouse=True)
def _refused_tags_are_errors_in_the_console(console: Console) -> None:
    """Chromium writes every answer that is a refusal into the console."""
    console.expect("status of 409")


def test_a_digit_tags_a_step(page: Page, dataset: Path) -> None:
    """Two keys: to the step, and its tag; the same digit takes it off again."""
    page.keyboard.press("ArrowRight")
    page.keyboard.press("1")
    expect(_line(page, "step 1").locator(".label")).to_have_text("success")
    assert _said(dataset) == [("tag", "success", (1, 2), "ann")]
    page.keyboard.press("1")
    expect(_line(page, "step 1")).to_have_count(0)
    assert _said(dataset) == []


def test_a_span_is_chosen_with_brackets(page: Page, dataset: Path) -> None:
    """From here, to there: what is said then is of all these steps, until Escape."""
    page.get_by_role("slider", name="Step").fill("5")
    page.keyboard.press("[")
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("]")
    expect(page.get_by_role("heading", name="Tag steps 5 to 15")).to_be_visible()
    page.keyboard.press("t")
    page.keyboard.type("grasp")
    page.keyboard.press("Enter")
    expect(_line(page, "steps 5 to 15").locator(".label")).to_have_text("grasp")
    page.keyboard.press("Escape")
    page.keyboard.press("Escape")
    expect(page.get_by_role("heading", name="Tag step 15")).to_be_visible()
    assert _said(dataset) == [("tag", "grasp", (5, 16), "ann")]
    page.keyboard.press("Home")
    _line(page, "steps 5 to 15").get_by_role("button", name="steps 5 to 15", exact=True).click()
    expect_step(page, 5)


def test_a_span_is_dragged_on_the_chart(page: Page, dataset: Path) -> None:
    """With Shift, the mouse chooses a span; a digit tags it."""
    over = page.locator(".chart .u-over")
    over.scroll_into_view_if_needed()
    box = over.bounding_box()
    assert box is not None
    width, middle = box["width"] / 30, box["y"] + box["height"] / 2
    page.keyboard.down("Shift")
    page.mouse.move(box["x"] + 3.5 * width, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 8.5 * width, middle, steps=4)
    page.mouse.up()
    page.keyboard.up("Shift")
    expect(page.get_by_role("heading", name="Tag steps 3 to 8")).to_be_visible()
    page.keyboard.press("2")
    expect(_line(page, "steps 3 to 8")).to_be_visible()
    assert _said(dataset) == [("tag", "failure", (3, 9), "ann")]


def test_notes_are_written_changed_and_deleted(page: Page, dataset: Path) -> None:
    """A note survives a reload; changing it takes the old one back."""
    page.keyboard.press("n")
    page.keyboard.type("The gripper slipped.")
    page.keyboard.press("Control+Enter")
    notes = page.get_by_role("region", name="Notes")
    expect(notes.get_by_role("listitem")).to_contain_text("The gripper slipped.")
    page.reload()
    notes.get_by_role("button", name="Change").click()
    notes.get_by_role("textbox", name="Change the note").fill("It slipped twice.")
    notes.get_by_role("button", name="Save").first.click()
    expect(notes.locator(".note-text")).to_have_text("It slipped twice.")
    assert _said(dataset) == [("note", "It slipped twice.", None, "ann")]
    notes.get_by_role("button", name="Delete").click()
    expect(notes.locator(".note-text")).to_have_count(0)
    assert _said(dataset) == []


def test_a_note_may_be_of_a_step(page: Page, dataset: Path) -> None:
    """And leads there."""
    page.keyboard.press("Shift+ArrowRight")
    page.get_by_role("textbox", name="Write a note (n)").fill("Here.")
    page.get_by_role("checkbox", name="only step 10").check()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("region", name="Notes").get_by_role("button", name="step 10").click()
    assert _said(dataset) == [("note", "Here.", (10, 11), "ann")]


def test_people_reward_steps(page: Page, dataset: Path) -> None:
    """Plus and minus reward the step that is shown; the dataset then reads as amended; u takes it back."""
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("+")
    expect(_line(page, "step 10")).to_contain_text("reward +1")
    page.get_by_role("spinbutton", name="Reward").fill("-0.25")
    page.get_by_role("button", name="Give").click()
    expect(_line(page, "step 10").filter(has_text="-0.25")).to_be_visible()
    opened = rlds_kit.open(dataset)
    assert opened.episodes[0].steps[10]["reward"] == 0.5
    assert opened.as_amended().episodes[0].steps[10]["reward"] == -0.25
    page.keyboard.press("u")
    expect(_line(page, "step 10").filter(has_text="-0.25")).to_have_count(0)


def test_the_last_step_cannot_be_rewarded(page: Page) -> None:
    """Nothing was done there."""
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Reward +1")).to_be_disabled()
    expect(page.get_by_text("nothing was done on the last step")).to_be_visible()


def test_two_people_tag_at_once(dataset: Path, browser: Browser, console: Console) -> None:
    """Both see both tags without a reload, and both are kept; the same tag at the same time is kept once."""
    with contextlib.ExitStack() as stack:
        pages = []
        for source in ("ann", "bob"):
            link = stack.enter_context(viewing(dataset, source))
            pages.append(stack.enter_context(looking(browser, console, link)))
            open_replay(pages[-1], step=3)
        first, second = pages
        for page in pages:
            expect(page.get_by_text("live", exact=True)).to_be_visible()
            page.keyboard.press("1")
        first.keyboard.press("2")
        second.keyboard.press("3")
        for page in pages:
            for label in ("failure", "mistake"):
                expect(_line(page, "step 3").filter(has_text=label)).to_have_count(1)
    labels = [value for _, value, steps, _ in _said(dataset) if steps == (3, 4)]
    assert {"success", "failure", "mistake"} == set(labels)


def test_two_windows_of_one_server(dataset: Path, browser: Browser, console: Console) -> None:
    """What one window says, and takes back, the other shows at once."""
    with (
        viewing(dataset) as link,
        looking(browser, console, link) as first,
        looking(browser, console, link) as second,
    ):
        for page in (first, second):
            open_replay(page)
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        _tag(first, "Tag the episode (e)", "mine")
        other = second.get_by_role("region", name="Tags of the episode")
        expect(other.locator(".label")).to_contain_text("mine")
        other.get_by_role("button", name="Take off the tag mine").click()
        expect(first.get_by_role("region", name="Tags of the episode").locator(".label")).to_have_count(0)


def test_what_programs_say_appears(page: Page, dataset: Path) -> None:
    """A tag that is added to the dataset while one looks at it is shown."""
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    opened = rlds_kit.open(dataset)
    opened.annotate("critic", [layers.tag(opened.episodes[0], "drop", steps=range(20, 25))], source="critic")
    expect(_line(page, "steps 20 to 24").locator(".label")).to_have_text("drop")
    page.keyboard.press(".")
    page.keyboard.press(".")
    expect_step(page, 20)
