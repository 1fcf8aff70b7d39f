"""Seats in the editor of studies; the bell of the lobby; what people decide together."""

from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.studio.browser import playing
from tests.studio.browser.conftest import Open
from tests.studio.browser.several_people import lobby
from tests.studio.studio_process import StudioProcess, running

pytestmark = pytest.mark.slow
MODULE: Final = "tests.trials.environments.matching_pennies"
PENNIES: Final = f"{MODULE}:MatchingPennies"
_BELL: Final = """
    window.tones = [];
    window.AudioContext = class extends AudioContext {
        createOscillator() {
            const tone = super.createOscillator();
            tones.push(tone);
            return tone;
        }
    };
"""


@pytest.fixture(scope="module")
def pennies(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio that knows a game for two."""
    with running(tmp_path_factory.mktemp("pennies"), "--module", MODULE, "--workers", "1") as studio:
        yield studio


def _made(pennies: StudioProcess, name: str) -> Any:
    (study,) = [each for each in pennies.designer.get("studies")["studies"] if each["name"] == name]
    return study["environments"][0]


def test_g27_seats_are_edited_saved_and_shown_again(pennies: StudioProcess, open_page: Open) -> None:
    """Who sits where, which program, whether they are required; how people come together."""
    page = open_page(person=pennies.designer)
    page.get_by_role("link", name="New study").first.click()
    page.get_by_label("Name", exact=True).fill("Edited pennies")
    box = page.get_by_role("combobox", name="Environment")
    box.fill("MatchingPennies")
    expect(page.get_by_role("listbox").get_by_role("option").first).to_be_visible()
    box.press("Enter")
    expect(page.get_by_label("Who sits in odd")).to_have_value("person")
    page.get_by_label("Program of odd").select_option("random")
    page.get_by_label("even is required").uncheck()
    page.get_by_label("Programs take empty seats after").fill("7")
    page.get_by_label("Countdown").fill("0")
    page.get_by_label("Who may pause").select_option("all together")
    page.get_by_label("Who may end an episode").select_option("more than half")
    page.get_by_label("Who decides whether it is saved").select_option("all together")
    page.get_by_label("Reviewers may watch").uncheck()
    page.get_by_role("button", name="Make study").click()
    expect(page.get_by_text("All saved")).to_be_visible()
    made = _made(pennies, "Edited pennies")
    about = [(each["name"], each["is_human"], each["actor"], each["is_required"]) for each in made["seats"]]
    assert about == [("odd", True, "random", True), ("even", True, "", False)]
    wanted = {"fill_seconds": 7, "countdown_seconds": 0, "pause": "all", "cancel": "vote", "confirm": "all"}
    assert {name: made["together"][name] for name in wanted} == wanted
    assert made["together"]["onlookers"] is False

    page.reload()
    expect(page.get_by_label("Program of odd")).to_have_value("random")
    expect(page.get_by_label("even is required")).not_to_be_checked()
    expect(page.get_by_label("Who may end an episode")).to_have_value("vote")
    page.get_by_label("Who sits in even").select_option("a program")
    expect(page.get_by_label("Who may pause")).to_have_count(0)  # one person decides alone
    page.get_by_label("Program of even").select_option("random")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("All saved")).to_be_visible()
    even = _made(pennies, "Edited pennies")["seats"][1]
    assert (even["is_human"], even["actor"]) == (False, "random")


def _vote(page: Page) -> Locator:
    return page.get_by_role("region", name="Players").locator(".vote")


def test_g27_c34_the_bell_rings_and_people_decide_together(pennies: StudioProcess, open_page: Open) -> None:
    """The bell is heard where somebody has clicked; a pause takes both, an end too; the cautious wish counts."""
    together = {"countdown_seconds": 0.5, "pause": "all", "cancel": "vote", "confirm": "all"}
    environment = {
        "environment": PENNIES,
        "interface": "pettingzoo",
        "turn": "press",
        "kwargs": {"length": 50},
        "seats": [{"name": "odd"}, {"name": "even"}],
        "together": together,
    }
    study = pennies.designer.study("Pennies together", environment)

    def entered(name: str) -> Page:
        person = pennies.person("participant", name)
        return open_page(lobby(study), person=person, prepare=lambda page: page.add_init_script(_BELL))

    odd = entered("ann")
    expect(odd.get_by_role("region", name="Lobby")).to_contain_text("1 of 2 people is here")
    odd.get_by_role("heading", name="Waiting for others").click()
    even = entered("bob")
    for page, seat in ((odd, "odd"), (even, "even")):
        expect(page.get_by_text(f"You are {seat}")).to_be_visible()
        expect(page.locator(".overlay")).to_have_count(0)
    assert odd.evaluate("tones.map((tone) => tone.frequency.value)") == [660, 880]
    assert even.evaluate("tones.length") == 0

    odd.get_by_role("button", name="Pause").click()
    expect(_vote(even)).to_contain_text("odd wants a pause. 1 of 2")
    expect(_vote(odd).get_by_role("button")).to_have_count(0)
    _vote(even).get_by_role("button", name="Agree").click()
    for page in (odd, even):
        expect(page.get_by_role("group", name="Paused")).to_be_visible()
        expect(_vote(page)).to_have_count(0)
    even.get_by_role("button", name="Continue").click()
    expect(odd.locator(".overlay")).to_have_count(0)
    for page in (odd, even):
        page.keyboard.press("ArrowRight")
    playing.expect_fact(odd, "Step", "1")

    even.get_by_role("button", name="End episode").click()
    expect(_vote(odd)).to_contain_text("even wants to end the episode. 1 of 2")
    _vote(odd).get_by_role("button", name="Agree").click()
    asked = [page.get_by_role("dialog", name="End this episode?") for page in (odd, even)]
    asked[0].get_by_role("checkbox").check()
    asked[0].get_by_role("button", name="Save").click()
    expect(asked[0]).to_contain_text("Waiting for the others")
    expect(asked[1]).to_contain_text("odd: completed")
    asked[1].get_by_role("button", name="Save").click()  # not completed: more cautious than both completed
    for page in (odd, even):
        expect(page.get_by_role("status").filter(has_text="is recorded as").last).to_contain_text("cancelled")
