"""People train agents and judge recorded segments in the browser: the tasks of `rlds_kit.shaping`."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from playwright.sync_api import Page, expect

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.shaping import preferences
from rlds_kit.shaping.feedback import read_feedback
from tests.studio.browser import trainer
from tests.studio.browser.conftest import PHONE, Open, Save
from tests.studio.browser.readable import flaws
from tests.studio.studio_process import StudioProcess, running, wait_for

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Cart poles, whose pictures are drawn again from seeds and actions."""
    path = tmp_path_factory.mktemp("data") / "cart_pole"
    with GymnasiumLogger(gymnasium.make("CartPole-v1"), path) as env:
        for seed in range(3):
            env.action_space.seed(seed)
            env.reset(seed=seed)
            is_over = False
            while not is_over:
                *_, terminated, truncated, _ = env.step(env.action_space.sample())
                is_over = terminated or truncated
    return path


@pytest.fixture(scope="module")
def task_studio(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[StudioProcess]:
    """A studio with both tasks."""
    with running(tmp_path_factory.mktemp("tasks"), "--task", "train", "--task", f"judge={data}") as studio:
        yield studio


def test_t7_t8_t11_a_person_drives_then_trains_and_sees_that_keys_arrive(
    task_studio: StudioProcess, open_page: Open, screenshot: Save
) -> None:
    """Counters, the picture of the car, keys that latch; each press changes a number; keys elsewhere pause the game."""
    page = open_page("#studies", person=task_studio.designer)
    page.get_by_role("link", name="Train", exact=True).click()
    expect(page.get_by_role("heading", name="Train an agent")).to_be_visible()
    assert flaws(page) == {}
    page.locator("li", has_text="Mountain Car").get_by_role("link", name="Begin").click()
    expect(page.get_by_text("keys arrive here")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    page.keyboard.press("f")
    expect(page.locator("dd").nth(1)).not_to_have_text("0")
    assert flaws(page) == {}
    page.get_by_role("button", name="Next stage").click()
    expect(page.get_by_role("heading", name="Train: training 1")).to_be_visible()
    page.get_by_role("button", name="Start").click()
    expect(page.locator("dd").nth(1)).not_to_have_text("0")
    page.keyboard.press("p")
    expect(page.locator("[data-number='0']")).to_have_text("+1")
    page.get_by_role("button", name="Bad").click()
    expect(page.locator("[data-number='1']")).to_be_visible()
    screenshot(page, "train")
    page.evaluate("dispatchEvent(new Event('blur'))")
    expect(page.get_by_text("keys go elsewhere: click here")).to_be_visible()
    expect(page.get_by_role("button", name="Go on")).to_be_visible()
    page.evaluate("dispatchEvent(new Event('focus'))")
    expect(page.get_by_text("keys arrive here")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Train: training 1")).to_be_visible()
    directory = task_studio.directory / "tasks" / "train" / "mountain_car"
    dataset = rlds_kit.open(directory, include_open=True)
    events = [event for each in dataset.episodes for event in read_feedback(dataset, each).events]
    assert [(each.key, each.value, each.device.value) for each in events] == [
        ("p", 1.0, "keyboard"),
        ("n", -1.0, "button"),
    ]
    assert all(each.frame > 0 for each in events)


def _make(page: Page, kind: str, name: str) -> None:
    """A queue of two queries."""
    form = page.get_by_role("form", name="New queue")
    form.get_by_label("Name").fill(name)
    form.get_by_label("Kind").select_option(kind)
    form.get_by_label("Steps of a segment").fill("5")
    form.get_by_label("Queries").fill("2")
    form.get_by_role("button", name="Make the queue").click()
    expect(page.get_by_role("heading", name=name)).to_be_visible()


def _begin(page: Page, name: str) -> None:
    page.locator("li.card", has_text=name).get_by_role("link", name="Begin").click()
    expect(page.locator("canvas[data-painted='1']").first).to_be_visible()


def _answers(data: Path, kind: str) -> list[preferences.Answer]:
    layer = rlds_kit.open(data).layer("preferences")
    return [each.answer for each in preferences.responses(layer).whole if each.query.kind == kind]


def test_a_designer_makes_queues_and_a_person_answers_them(
    task_studio: StudioProcess, data: Path, open_page: Open, screenshot: Save
) -> None:
    """Two segments are compared by keys, one is rated by a button, and a place of the picture is marked."""
    page = open_page("#task-judge", person=task_studio.designer)
    for kind, name in (("comparison", "Pairs"), ("rating", "Stars"), ("marks", "Places"), ("correction", "Better")):
        _make(page, kind, name)
    assert flaws(page) == {}
    screenshot(page, "judge_queues", is_whole=True)
    page = open_page("#task-judge", person=task_studio.person("participant", "ann"))
    expect(page.get_by_role("form")).to_have_count(0)
    _begin(page, "Pairs")
    expect(page.locator("canvas[data-painted='1']")).to_have_count(2)
    assert flaws(page) == {}
    screenshot(page, "judge")
    page.keyboard.press("ArrowRight")
    expect(page.get_by_text("1 of 2 answered")).to_be_visible()
    page.get_by_role("button", name="Equally good").click()
    expect(page.get_by_text("You have answered everything")).to_be_visible()
    assert _answers(data, "comparison") == [
        preferences.Comparison(preferences.Choice.SECOND),
        preferences.Comparison(preferences.Choice.TIE),
    ]
    page.get_by_role("link", name="All queues").click()
    _begin(page, "Stars")
    screenshot(page, "judge_rating")
    page.get_by_role("button", name="Rate 4").click()
    expect(page.get_by_text("1 of 2 answered")).to_be_visible()
    assert _answers(data, "rating") == [preferences.Rating(4, 1, 5)]
    page.get_by_role("link", name="All queues").click()
    _begin(page, "Places")
    box = page.locator("canvas").bounding_box()
    assert box is not None
    page.mouse.move(box["x"] + box["width"] / 4, box["y"] + box["height"] / 4)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.mouse.up()
    expect(page.locator(".mark")).to_be_visible()
    screenshot(page, "judge_marks")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 of 2 answered")).to_be_visible()
    (marks,) = _answers(data, "marks")
    assert isinstance(marks, preferences.Marks)
    assert (marks.places[0].top, marks.places[0].left) == (100, 150)  # of 400 x 600 pixels
    page.get_by_role("link", name="All queues").click()
    _begin(page, "Better")
    page.get_by_label("From step").fill("2")
    page.get_by_role("button", name="Play on from here").click()
    page.get_by_role("button", name="Action 1").click()
    expect(page.get_by_text("1 step played")).to_be_visible()
    page.keyboard.press("0")
    expect(page.get_by_text("2 steps played")).to_be_visible()
    assert flaws(page) == {}
    page.locator(".playing-on").scroll_into_view_if_needed()
    screenshot(page, "judge_correction")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 of 2 answered")).to_be_visible()
    (better,) = _answers(data, "correction")
    assert isinstance(better, preferences.Correction)
    assert better.played is not None
    page = open_page("#task-judge", person=task_studio.designer, viewport=PHONE)
    page.locator("li.card", has_text="Pairs").get_by_role("button", name="How far do people agree?").click()
    expect(page.locator(".agreement", has_text="Answers").first).to_contain_text("2")
    assert flaws(page) == {}


@pytest.mark.slow
def test_agents_of_the_page_are_learned_again_from_the_recording(
    task_studio: StudioProcess, open_page: Open, screenshot: Save
) -> None:
    """A little of Mountain Car and a whole game of Tetris; every bit of the weights is the same."""
    page = open_page("#task-train", person=task_studio.person("participant", "tom"))
    trainer.begin(page, "Mountain Car", "training 1")
    trainer.train_car(page, lambda: trainer.counter(page, "All steps") > 20)
    trainer.begin(page, "Tetris", "practice 1")
    trainer.set_speed(page, 75)
    trainer.train_tetris(page, lambda: trainer.counter(page, "Step") > 5)
    screenshot(page, "train_tetris")
    trainer.set_speed(page, 100)
    wait_for(lambda: trainer.counter(page, "Game") > 1)
    page.goto("/#studies")
    recordings = task_studio.directory / "tasks" / "train"
    for name, n_games in (("mountain_car", 2), ("tetris", 2)):
        wait_for(lambda name=name, n_games=n_games: trainer.learned_again(recordings / name) >= n_games)  # type: ignore[misc]
