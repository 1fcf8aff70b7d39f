"""People judge recorded segments in the browser."""

from collections.abc import Iterator
from pathlib import Path

import gymnasium
import pytest
from playwright.sync_api import Page, expect

import rlds_kit
from rlds_kit.logger import GymnasiumLogger
from rlds_kit.shaping import preferences
from tests.studio.browser.conftest import PHONE, Open, Save
from tests.studio.browser.readable import flaws
from tests.studio.studio_process import StudioProcess, running

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
def judging_studio(tmp_path_factory: pytest.TempPathFactory, data: Path) -> Iterator[StudioProcess]:
    """A studio in which this dataset is judged."""
    with running(tmp_path_factory.mktemp("judging"), "--task", f"judge={data}") as studio:
        yield studio


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
    judging_studio: StudioProcess, data: Path, open_page: Open, screenshot: Save
) -> None:
    """Two segments are compared by keys, one is rated by a button, and a place of the picture is marked."""
    page = open_page("#task-judge", person=judging_studio.designer)
    for kind, name in (("comparison", "Pairs"), ("rating", "Stars"), ("marks", "Places")):
        _make(page, kind, name)
    assert flaws(page) == {}
    page = open_page("#task-judge", person=judging_studio.person("participant", "ann"))
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
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("1 of 2 answered")).to_be_visible()
    (marks,) = _answers(data, "marks")
    assert isinstance(marks, preferences.Marks)
    assert (marks.places[0].top, marks.places[0].left) == (100, 150)  # of 400 x 600 pixels
    page = open_page("#task-judge", person=judging_studio.designer, viewport=PHONE)
    page.locator("li.card", has_text="Pairs").get_by_role("button", name="How far do people agree?").click()
    expect(page.locator(".agreement", has_text="Answers").first).to_contain_text("2")
    assert flaws(page) == {}
