"""Tags, spans, notes and rewards: said with a few keys, seen by everybody at once, kept as layers of the dataset."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from playwright.sync_api import Browser, Locator, Page, Route, expect

import rlds_kit
from rlds_kit import layers
from rlds_kit.episode.episode import Episode
from tests.studio.browser.conftest import Console
from tests.studio.browser.viewing import expect_step, record_robot, replaying, viewing

pytestmark = pytest.mark.thorough

EPISODES: Final = 30
"""One for each test of this file."""


@dataclass(frozen=True)
class Robot:
    """An episode that nobody has said anything of.

    Attributes:
      dataset: that it is in.
      number: of the episode.
    """

    dataset: Path
    number: int

    @property
    def episode(self) -> Episode:
        """As it is on the disk now."""
        return rlds_kit.open(self.dataset).episodes[self.number]


@pytest.fixture(scope="module")
def robots(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Iterator[Robot], str]]:
    """An episode for each test, and the link to the dataset of all, as ann sees it."""
    dataset = tmp_path_factory.mktemp("tags") / "robot"
    record_robot(dataset, EPISODES)
    with viewing(dataset) as link:
        yield (Robot(dataset, number) for number in range(EPISODES)), link


@pytest.fixture
def robot(robots: tuple[Iterator[Robot], str]) -> Robot:
    """One that no other test has."""
    return next(robots[0])


@pytest.fixture
def page(robots: tuple[Iterator[Robot], str], robot: Robot, browser: Browser, console: Console) -> Iterator[Page]:
    """Its first step, as ann sees it."""
    with replaying(browser, console, robots[1], robot.number) as page:
        yield page


def _said(robot: Robot) -> list[tuple[str, object, tuple[int, int] | None, str]]:
    """What counts in the layer, in order of time."""
    return [
        (each.kind.value, each.value, None if each.steps is None else (each.steps.start, each.steps.stop), each.source)
        for each in robot.episode.annotations()
    ]


def _tag(page: Page, name: str, text: str) -> None:
    field = page.get_by_role("combobox", name=name)
    field.fill(text)
    field.press("Enter")


def _say(page: Page, text: str) -> None:
    """Tags the episode, and waits until that is answered."""
    with page.expect_response("**/annotations"):
        _tag(page, "Tag the episode (e)", text)


def _line(page: Page, steps: str) -> Locator:
    """What is said of some steps, in the list."""
    return page.get_by_role("region", name="Annotations of steps").get_by_role("listitem").filter(has_text=steps)


def test_tags_of_the_episode(page: Page, robot: Robot) -> None:
    """A label is added, a second time refused with a reason, and taken off."""
    tags = page.get_by_role("region", name="Tags of the episode")
    _tag(page, "Tag the episode (e)", "clean")
    expect(tags.locator(".label")).to_have_text("clean✕")
    _tag(page, "Tag the episode (e)", "clean")
    expect(tags.get_by_role("alert")).to_contain_text("already")
    assert _said(robot) == [("tag", "clean", None, "ann")]
    tags.get_by_role("button", name="Take off the tag clean").click()
    expect(tags.locator(".label")).to_have_count(0)
    assert _said(robot) == []


@pytest.fixture(autouse=True)
def _refused_tags_are_errors_in_the_console(console: Console) -> None:
    """Chromium writes every answer that is a refusal into the console."""
    console.expect("status of 409")


def test_a_digit_tags_a_step(page: Page, robot: Robot) -> None:
    """Two keys: to the step, and its tag; the same digit takes it off again."""
    page.keyboard.press("ArrowRight")
    page.keyboard.press("1")
    expect(_line(page, "step 1").locator(".label")).to_have_text("success")
    assert _said(robot) == [("tag", "success", (1, 2), "ann")]
    page.keyboard.press("1")
    expect(_line(page, "step 1")).to_have_count(0)
    assert _said(robot) == []


def test_a_span_is_chosen_with_brackets(page: Page, robot: Robot) -> None:
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
    assert _said(robot) == [("tag", "grasp", (5, 16), "ann")]
    page.keyboard.press("Home")
    _line(page, "steps 5 to 15").get_by_role("button", name="steps 5 to 15", exact=True).click()
    expect_step(page, 5)


def test_a_span_is_dragged_on_the_chart(page: Page, robot: Robot) -> None:
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
    assert _said(robot) == [("tag", "failure", (3, 9), "ann")]


def test_notes_are_written_changed_and_deleted(page: Page, robot: Robot) -> None:
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
    assert _said(robot) == [("note", "It slipped twice.", None, "ann")]
    notes.get_by_role("button", name="Delete").click()
    expect(notes.locator(".note-text")).to_have_count(0)
    assert _said(robot) == []


def test_a_note_may_be_of_a_step(page: Page, robot: Robot) -> None:
    page.keyboard.press("Shift+ArrowRight")
    page.get_by_role("textbox", name="Write a note (n)").fill("Here.")
    page.get_by_role("checkbox", name="only step 10").check()
    page.get_by_role("button", name="Save").click()
    page.get_by_role("region", name="Notes").get_by_role("button", name="step 10").click()
    assert _said(robot) == [("note", "Here.", (10, 11), "ann")]


def test_people_reward_steps(page: Page, robot: Robot) -> None:
    """Plus and minus reward the step that is shown; the dataset then reads as amended; u takes it back."""
    page.keyboard.press("Shift+ArrowRight")
    page.keyboard.press("+")
    expect(_line(page, "step 10")).to_contain_text("reward +1")
    page.get_by_role("spinbutton", name="Reward").fill("-0.25")
    page.get_by_role("button", name="Give").click()
    expect(_line(page, "step 10").filter(has_text="-0.25")).to_be_visible()
    assert robot.episode.steps[10]["reward"] == 0.5
    amended = rlds_kit.open(robot.dataset).as_amended()
    assert amended.episodes[robot.number].steps[10]["reward"] == -0.25
    page.keyboard.press("u")
    expect(_line(page, "step 10").filter(has_text="-0.25")).to_have_count(0)


def test_the_last_step_cannot_be_rewarded(page: Page) -> None:
    page.keyboard.press("End")
    expect(page.get_by_role("button", name="Reward +1")).to_be_disabled()
    expect(page.get_by_text("nothing was done on the last step")).to_be_visible()


def test_two_people_tag_at_once(robot: Robot, browser: Browser, console: Console) -> None:
    """Both see both tags without a reload, and both are kept; the same tag may be said at the same time."""
    with contextlib.ExitStack() as stack:
        pages = []
        for source in ("ann", "bob"):
            link = stack.enter_context(viewing(robot.dataset, source))
            pages.append(stack.enter_context(replaying(browser, console, link, robot.number, step=3)))
        first, second = pages
        for page in pages:
            expect(page.get_by_text("live", exact=True)).to_be_visible()
            page.get_by_role("combobox", name="Tag the episode (e)").fill("same")
        for page in pages:
            page.keyboard.press("Enter")
        for page in pages:
            expect(page.get_by_role("region", name="Tags of the episode").locator(".label").first).to_be_visible()
            page.get_by_role("heading", name="Step 3", exact=True).click()  # out of the field
        first.keyboard.press("2")
        second.keyboard.press("3")
        for page in pages:
            for label in ("failure", "mistake"):
                expect(_line(page, "step 3").filter(has_text=label)).to_have_count(1)
    said = {(value, steps) for _, value, steps, _ in _said(robot)}
    assert said == {("same", None), ("failure", (3, 4)), ("mistake", (3, 4))}


def test_two_windows_of_one_server(
    robots: tuple[Iterator[Robot], str], robot: Robot, browser: Browser, console: Console
) -> None:
    """What one window says, and takes back, the other shows at once."""
    opened = replaying(browser, console, robots[1], robot.number), replaying(browser, console, robots[1], robot.number)
    with opened[0] as first, opened[1] as second:
        for page in (first, second):
            expect(page.get_by_text("live", exact=True)).to_be_visible()
        _tag(first, "Tag the episode (e)", "mine")
        other = second.get_by_role("region", name="Tags of the episode")
        expect(other.locator(".label")).to_contain_text("mine")
        other.get_by_role("button", name="Take off the tag mine").click()
        expect(first.get_by_role("region", name="Tags of the episode").locator(".label")).to_have_count(0)


def test_an_answer_that_comes_late_hides_nothing(page: Page) -> None:
    """What others said meanwhile stays: the answer to one's own tag is as old as the tag."""
    tags = page.get_by_role("region", name="Tags of the episode").locator(".label")

    def late(route: Route) -> None:
        answer = route.fetch()
        theirs = {"kind": "tag", "text": "theirs"}
        page.request.post(answer.url, data=theirs, headers={"Origin": page.evaluate("origin")})
        expect(tags).to_have_text(["mine✕", "theirs✕"])
        route.fulfill(response=answer)

    page.route("**/annotations", late)
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    _say(page, "mine")
    expect(tags).to_have_text(["mine✕", "theirs✕"])


def test_what_is_shown_before_it_is_answered_can_be_taken_back(page: Page, robot: Robot) -> None:
    tags = page.get_by_role("region", name="Tags of the episode").locator(".label")

    def late(route: Route) -> None:
        answer = route.fetch()
        expect(tags).to_have_text(["first✕", "second✕"])
        page.locator("h1").click()  # out of the field
        page.keyboard.press("u")
        route.fulfill(response=answer)

    expect(page.get_by_text("live", exact=True)).to_be_visible()
    _say(page, "first")
    page.route("**/annotations", late)
    _say(page, "second")
    expect(tags).to_have_text(["first✕"])
    assert [value for _, value, *_ in _said(robot)] == ["first"]


def test_what_is_written_before_an_answer_stays(page: Page, robot: Robot) -> None:
    """The field is empty at once, so that one can go on; what is refused comes back, unless one has gone on."""
    field = page.get_by_role("combobox", name="Tag the episode (e)")

    def late(route: Route) -> None:
        answer = route.fetch()
        expect(field).to_have_value("")
        field.fill("second")
        route.fulfill(response=answer)

    page.route("**/annotations", late)
    _say(page, "first")
    page.unroute("**/annotations")
    expect(field).to_have_value("second")
    expect(page.get_by_role("region", name="Tags of the episode").locator(".label")).to_have_text("first✕")
    _say(page, "first")
    expect(page.get_by_role("alert")).to_contain_text("already")
    expect(field).to_have_value("first")
    assert [value for _, value, *_ in _said(robot)] == ["first"]


def test_what_programs_say_appears(page: Page, robot: Robot) -> None:
    """A tag that is added to the dataset while one looks at it is shown."""
    expect(page.get_by_text("live", exact=True)).to_be_visible()
    drop = layers.tag(robot.episode, "drop", steps=range(20, 25))
    rlds_kit.open(robot.dataset).annotate("critic", [drop], source="critic")
    expect(_line(page, "steps 20 to 24").locator(".label")).to_have_text("drop")
    page.keyboard.press(".")
    page.keyboard.press(".")
    expect_step(page, 20)
