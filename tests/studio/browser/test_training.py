"""People train agents in the browser."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Page, expect

import rlds_kit
from rlds_kit.shaping.feedback import read_feedback
from tests.studio.browser.conftest import Open, Save
from tests.studio.browser.readable import flaws
from tests.studio.studio_process import StudioProcess, running

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def training_studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio in which agents are trained."""
    with running(tmp_path_factory.mktemp("training"), "--task", "train") as studio:
        yield studio


def _total(page: Page) -> str:
    return page.locator(".training-total strong").inner_text()


def test_t7_t8_t11_a_person_drives_then_trains_and_sees_that_keys_arrive(
    training_studio: StudioProcess, open_page: Open, screenshot: Save
) -> None:
    """Counters, the picture of the car, keys that latch; each press changes a number; keys elsewhere pause the game."""
    page = open_page("#studies", person=training_studio.designer)
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
    directory = training_studio.directory / "tasks" / "train" / "mountain_car"
    dataset = rlds_kit.open(directory, include_open=True)
    events = [event for each in dataset.episodes for event in read_feedback(dataset, each).events]
    assert [(each.key, each.value, each.device.value) for each in events] == [
        ("p", 1.0, "keyboard"),
        ("n", -1.0, "button"),
    ]
    assert all(each.frame > 0 for each in events)
