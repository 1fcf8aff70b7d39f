"""The replay: what it shows is what was recorded, and one moves through it by mouse, keys and links."""

import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page, expect

import rlds_kit
from tests.studio.browser.conftest import PHONE, Console
from tests.studio.browser.viewing import (
    ABSENT,
    STEPS,
    expect_step,
    looking,
    pixels,
    record_breakout,
    record_robot,
    record_words,
    replaying,
    robot_observation,
    viewing,
)

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def breakout(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, str]]:
    """A game that was recorded, and the link to look at it."""
    directory = tmp_path_factory.mktemp("replay") / "breakout"
    record_breakout(directory)
    with viewing(directory) as link:
        yield directory, link


@pytest.fixture(scope="module")
def robot(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A robot with three cameras."""
    directory = tmp_path_factory.mktemp("replay") / "robot"
    record_robot(directory)
    with viewing(directory) as link:
        yield link


@pytest.fixture
def page(browser: Browser, console: Console, breakout: tuple[Path, str]) -> Iterator[Page]:
    """The first step of the first game."""
    with replaying(browser, console, breakout[1]) as page:
        yield page


@pytest.fixture
def robot_page(browser: Browser, console: Console, robot: str) -> Iterator[Page]:
    """The first step of the robot."""
    with replaying(browser, console, robot) as page:
        yield page


def test_the_pixels_are_those_of_the_recording(page: Page, breakout: tuple[Path, str]) -> None:
    """Every number of a picture on the canvas is the recorded one."""
    recorded = rlds_kit.open(breakout[0]).episodes[0]["observation"]
    for step in (0, 1, STEPS):
        page.get_by_role("spinbutton", name="Go to step").fill(str(step))
        page.keyboard.press("Enter")
        expect_step(page, step)
        shown = pixels(page.get_by_role("img", name=f"observation of step {step}"), step)
        np.testing.assert_array_equal(shown, recorded[step])


def test_keys_move(page: Page) -> None:
    """Arrows go to the next step, with Shift by ten, Home and End to the ends; never beyond."""
    moves = [
        ("ArrowRight", 1), ("ArrowRight", 2), ("Shift+ArrowRight", 12), ("ArrowLeft", 11), ("Shift+ArrowLeft", 1),
        ("Shift+ArrowLeft", 0), ("ArrowLeft", 0), ("End", STEPS), ("ArrowRight", STEPS), ("Home", 0),
    ]  # fmt: skip
    for key, step in moves:
        page.keyboard.press(key)
        expect_step(page, step)


def test_keys_do_nothing_while_somebody_writes(page: Page) -> None:
    """Arrows and digits in a field are for the field; Escape leaves it."""
    page.keyboard.press("t")
    field = page.get_by_role("combobox", name="Another label (t)")
    expect(field).to_be_focused()
    page.keyboard.type("1 + 2")
    page.keyboard.press("Home")
    expect(field).to_have_value("1 + 2")
    expect_step(page, 0)
    page.keyboard.press("Escape")
    page.keyboard.press("ArrowRight")
    expect_step(page, 1)


def test_the_slider_moves(page: Page) -> None:
    """Dragging the slider shows the step."""
    page.get_by_role("slider", name="Step").fill("33")
    expect_step(page, 33)


def test_it_plays_to_the_end_and_stops(page: Page) -> None:
    """Space plays, no step is left out at this speed, and it stops at the last one."""
    page.get_by_role("combobox", name="Steps a second").select_option("60")
    page.evaluate(
        """() => {
            window.seen = [];
            const canvas = document.querySelector(".picture canvas");
            const see = () => window.seen.push(Number(canvas.dataset.step));
            new MutationObserver(see).observe(canvas, {attributes: true, attributeFilter: ["data-step"]});
        }"""
    )
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    expect_step(page, STEPS)
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()
    seen = page.evaluate("window.seen")
    assert seen == sorted(seen)
    assert seen[-1] == STEPS
    page.keyboard.press("Space")  # again, from the beginning
    expect(page.get_by_role("button", name="Stop", exact=True)).to_be_visible()
    page.keyboard.press("Space")
    expect(page.get_by_role("button", name="Play", exact=True)).to_be_visible()


def test_up_and_down_change_the_speed(page: Page) -> None:
    """Slow motion is a key away."""
    speed = page.get_by_role("combobox", name="Steps a second")
    before = float(speed.input_value())
    page.keyboard.press("ArrowDown")
    assert float(speed.input_value()) < before
    page.keyboard.press("ArrowUp")
    assert float(speed.input_value()) == before


def test_the_link_is_of_the_step(page: Page, browser: Browser, console: Console, breakout: tuple[Path, str]) -> None:
    """What stands in the address opens the same step in another browser, and the back button works."""
    page.keyboard.press("Shift+ArrowRight")
    expect(page).to_have_url(re.compile("step=10$"))
    with looking(browser, console, breakout[1], page.url[page.url.index("#") :]) as other:
        expect_step(other, 10)
        other.evaluate("location.hash = location.hash.replace('step=10', 'step=20')")
        expect_step(other, 20)
        other.go_back()
        expect_step(other, 10)


def test_a_link_that_is_told_late_is_followed(page: Page) -> None:
    """Browsers say some time after it that the address is another; what is shown until then does not take it back."""
    page.add_init_script(
        """addEventListener("hashchange", (event) => {
            if (event.isTrusted) {
                event.stopImmediatePropagation();
                setTimeout(() => dispatchEvent(new HashChangeEvent("hashchange", event)), 500);
            }
        })"""
    )
    page.reload()
    expect_step(page, 0)
    page.evaluate(
        """() => {
            document.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
            location.hash = location.hash.replace("step=0", "step=20");
        }"""
    )
    expect_step(page, 20)
    expect(page).to_have_url(re.compile("step=20$"))


def test_a_step_that_is_not_there_is_the_nearest(page: Page) -> None:
    """A link to step 9999 of a short episode shows its last step."""
    page.evaluate("location.hash = location.hash.replace(/&step=.*/, '') + '&step=9999'")
    expect_step(page, STEPS)


def test_an_episode_that_is_not_there_says_so(browser: Browser, console: Console, breakout: tuple[Path, str]) -> None:
    console.expect("404")
    place = "#replay?episode=00000000-0000-0000-0000-000000000000"
    with looking(browser, console, breakout[1], place) as page:
        expect(page.get_by_role("alert")).to_contain_text("there is no episode")
        page.get_by_role("link", name="All episodes").click()
        expect(page.get_by_role("heading", name="Episodes")).to_be_visible()


def test_the_last_step_has_no_action(page: Page) -> None:
    """Action, reward and discount of the last step are undefined, and its flag is on."""
    page.keyboard.press("End")
    expect_step(page, STEPS)
    for name in ("Action", "Reward", "Discount"):
        expect(page.locator(".step-facts > div", has=page.get_by_text(name, exact=True)).locator("dd")).to_have_text(
            "undefined"
        )
    expect(page.locator(".flag.on")).to_have_text(re.compile("is_last"))


def test_cameras_are_switched_and_shown_together(robot_page: Page) -> None:
    """One camera, another one, both; the key c goes from one to the next."""
    page = robot_page
    expect(page.get_by_role("img", name="front of step 0")).to_be_visible()
    page.get_by_role("button", name="wrist", exact=True).click()
    page.keyboard.press("Shift+ArrowRight")
    wrist = page.get_by_role("img", name="wrist of step 10")
    np.testing.assert_array_equal(pixels(wrist, 10), robot_observation(10)["cameras"]["wrist"])
    front = page.get_by_role("img", name="front of step 10")
    np.testing.assert_array_equal(pixels(front, 10), robot_observation(10)["cameras"]["front"])
    page.get_by_role("button", name="front", exact=True).click()
    expect(front).to_have_count(0)
    page.keyboard.press("c")
    expect(page.get_by_role("img", name="depth of step 10")).to_be_visible()
    expect(page.locator("figcaption")).to_contain_text("as black to white")  # floats are scaled, and it says so


def test_values_are_a_tree(robot_page: Page) -> None:
    """Nests fold, large arrays are summed up until they are opened, and stay open from step to step."""
    page = robot_page
    cloud = page.locator(".entry.nest", has=page.get_by_role("button", name="cloud")).last
    expect(cloud.locator(".summary")).to_have_text(re.compile(r"min\s*0\.000\s*max\s*5999\.000\s*mean\s*3000"))
    page.get_by_role("button", name="cloud").click()
    expect(cloud.locator(".array tr").nth(1)).to_have_text(re.compile(r"1\s*3\.000\s*4\.000\s*5\.000"))
    page.keyboard.press("ArrowRight")
    expect_step(page, 1)
    expect(cloud.locator(".array tr").nth(1)).to_have_text(re.compile(r"1\s*4\.000\s*5\.000\s*6\.000"))
    page.get_by_role("button", name="cloud").click()
    expect(cloud.locator(".array")).to_have_count(0)


def test_numbers_are_exact_on_demand(robot_page: Page) -> None:
    """Without the rounding, a float32 is the shortest text that is still that float32."""
    page = robot_page
    page.get_by_role("slider", name="Step").fill("1")
    expect_step(page, 1)
    joints = page.locator(".entry", has=page.get_by_text("joints", exact=True)).last.locator("dd")
    expect(joints).to_contain_text("0.167")
    page.get_by_role("checkbox", name="3 decimals").uncheck()
    expect(joints).to_contain_text(str(np.linspace(0, 1, 7, dtype=np.float32)[1]))


def test_the_chart_leads_to_the_spike(robot_page: Page) -> None:
    """A click beside the bar of a reward opens its step, and the mark is where one is."""
    page = robot_page
    over = page.locator(".chart .u-over")
    box = over.bounding_box()
    assert box is not None
    width = box["width"] / 30
    over.click(position={"x": width * 10.5 + 3, "y": box["height"] / 2})
    expect_step(page, 10)
    expect(page.locator(".reward-key")).to_have_text(re.compile(r"reward\s*0\.5"))
    mark = page.locator(".chart-marker").bounding_box()
    assert mark is not None
    assert abs(mark["x"] + 1 - (box["x"] + width * 10.5)) < 2


def test_keys_go_to_the_next_reward(robot_page: Page) -> None:
    """The full stop goes to the next step where something happened, the comma back."""
    page = robot_page
    for key, step in ((".", 10), (".", 28), (".", 28), (",", 10)):
        page.keyboard.press(key)
        expect_step(page, step)


def test_text_is_text(browser: Browser, console: Console, tmp_path: Path) -> None:
    """An environment of text is shown as text, and a step without a reward has none."""
    record_words(tmp_path / "words")
    with viewing(tmp_path / "words") as link, replaying(browser, console, link) as page:
        expect(page.locator(".screen")).to_have_text("You are in a dark cave.\nA lamp is here.")
        expect(page.locator(".step-facts")).to_contain_text("take lamp")
        expect(page.locator(".step-facts > div", has_text="Reward").locator("dd")).to_have_text(ABSENT)
        page.keyboard.press("ArrowRight")
        expect(page.locator(".screen")).to_have_text("Taken.\n")


def test_from_episode_to_episode(page: Page) -> None:
    """The keys j and k go to the episodes beside this one."""
    page.keyboard.press("j")
    expect(page.get_by_role("heading", name="Episode 1", exact=True)).to_be_visible()
    page.keyboard.press("k")
    expect(page.get_by_role("heading", name="Episode 0", exact=True)).to_be_visible()


def test_all_keys_are_explained(page: Page) -> None:
    """The question mark opens the list of keys; while it is open they do nothing."""
    page.keyboard.press("?")
    keys = page.get_by_role("dialog", name="Keys")
    expect(keys).to_contain_text("reward or tag before")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Escape")
    expect(keys).to_be_hidden()
    expect_step(page, 0)


def test_it_fits_a_phone(browser: Browser, console: Console, breakout: tuple[Path, str]) -> None:
    """Nothing is wider than the screen, and the buttons stay within reach."""
    with replaying(browser, console, breakout[1], viewport=PHONE, has_touch=True) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
        page.mouse.wheel(0, 400)
        next_step = page.get_by_role("button", name="Next step (→)")
        expect(next_step).to_be_in_viewport()
        next_step.tap()
        expect_step(page, 1)


def test_the_theme_reaches_the_chart(page: Page) -> None:
    """In the dark the chart is drawn anew in colours of the dark."""
    shown = "document.querySelector('.chart canvas').toDataURL()"
    light = page.evaluate(shown)
    page.emulate_media(color_scheme="dark")
    expect(page.locator(".chart canvas")).to_have_count(1)
    page.wait_for_function(f"light => {shown} !== light", arg=light)
