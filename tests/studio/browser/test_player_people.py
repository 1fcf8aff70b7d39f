"""The player: who looks on, judges, hands over, and what seats tell each other."""

import re
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from tests.studio.browser import player_page, playing
from tests.studio.browser.conftest import Open
from tests.studio.studio_process import Api, StudioProcess, running

pytestmark = pytest.mark.thorough


def looking_on(open_page: Open, page: Page, person: Api) -> Page:
    """The page of somebody who looks on in a session."""
    session = re.findall(r"session=(\w+)", page.url)[0]
    watching = open_page(f"#watch?session={session}", person=person)
    expect(watching.get_by_text("You are watching")).to_be_visible()
    return watching


def test_who_looks_on_gives_rewards_for_the_step_they_see(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """They are recorded beside those of the environment, with an id of the judge's own; players see no such buttons."""
    study = api.study("Judged", player_page.PRESSED)
    page = open_page(playing.link(study), person=studio.person("participant", "gil"))
    playing.begin(page)
    watching = looking_on(open_page, page, studio.designer)
    reward = watching.get_by_role("region", name="Reward")
    reward.get_by_role("button", name="Give +1").click()
    expect(watching.get_by_role("region", name="Messages")).to_contain_text("steps 1 to 0")  # none is done
    playing.press(page, "ArrowRight", "ArrowRight")
    playing.expect_fact(watching, "Step", "2")
    reward.get_by_role("button", name="Give -1").click()
    expect(reward.get_by_role("status")).to_have_text("Step 2: -1, on average -1")
    reward.get_by_label("Value").fill("0.5")
    reward.get_by_label("Value").press("Enter")
    expect(reward.get_by_role("status")).to_have_text("Step 2: 0.5, on average -0.25")
    expect(page.get_by_role("region", name="Reward")).to_have_count(0)
    watching.get_by_role("heading", name="Reward").click()  # no field has the focus
    watching.keyboard.press("g")
    expect(reward.get_by_role("status")).to_contain_text("Step 2: 1,")
    watching.keyboard.press("-")
    expect(reward.get_by_role("status")).to_contain_text("Step 2: -1,")
    expect(watching.get_by_text("reward +1")).to_be_visible()  # among the keys
    expect(reward.get_by_role("button", name="Give -1")).to_have_text("\N{MINUS SIGN}1 \N{MINUS SIGN} B")
    playing.end(page)
    playing.save(page)
    (episode,) = playing.recorded(studio, study)
    judgements = episode.annotations("judgements")
    assert [each.value for each in judgements] == [-1.0, 0.5, 1.0, -1.0]
    assert {each.steps for each in judgements} == {range(1, 2)}
    given = [(each.user_data["device"], each.user_data["key"]) for each in judgements]
    assert given == [("pointer", None), ("keyboard", None), ("keyboard", "KeyG"), ("keyboard", "Minus")]
    assert all(each.user_data["shown_frame"] == 2 and each.user_data["pressed_ns"] > 0 for each in judgements)
    (judge,) = {each.source for each in judgements}
    assert len(judge) == len(episode.metadata["agent_id"])
    assert judge != episode.metadata["agent_id"]
    assert [step["reward"] for step in list(episode.steps)[:-1]] == [1.0, 2.0]


def test_who_may_look_on_finds_the_way(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """From the page of the study, and from the table of episodes; who plays sees no such link."""
    study = api.study("Looked at", player_page.PRESSED)
    page = open_page(playing.link(study), person=studio.person("participant", "gil"))
    playing.begin(page)
    designer = open_page(f"#study?id={study['id']}")
    now = designer.get_by_role("region", name="Being played now")
    now.get_by_role("link", name="Watch").click()
    expect(designer.get_by_text("You are watching")).to_be_visible()
    playing.press(page, "ArrowRight")
    playing.expect_fact(designer, "Step", "1")
    designer.goto(f"{studio.url}/#episodes?study={study['id']}")
    designer.get_by_role("row").filter(has_text="recording").get_by_role("link", name="Watch").click()
    expect(designer.get_by_text("You are watching")).to_be_visible()
    theirs = open_page(f"#study?id={study['id']}", person=studio.person("participant", "gil"))
    expect(theirs.get_by_role("link", name="Play")).to_be_visible()
    expect(theirs.get_by_role("region", name="Being played now")).to_have_count(0)
    route = f"studies/{study['id']}/sessions"
    assert [each["study"] for each in studio.person("participant", "gil").get(route)["sessions"]] == [study["id"]]
    assert studio.person("participant", "eve").get(route)["sessions"] == []


def test_a_person_hands_over_to_a_policy_and_takes_over_again(open_page: Open, tmp_path: Path) -> None:
    """The button says which; the policy acts at the speed, keys act again afterwards, and every step says who acted."""
    with running(tmp_path / "studio", "--policy", "random") as studio:
        study = studio.designer.study("Shared", {"environment": "MountainCar-v0", "turn": "press", "fps": 20.0})
        page = open_page(playing.link(study), person=studio.designer)
        playing.begin(page)
        playing.press(page, "ArrowRight")
        page.get_by_role("button", name="Hand over").click()
        expect(page.get_by_role("button", name="Take over")).to_have_attribute("aria-pressed", "true")
        page.wait_for_function(
            "() => Number(document.querySelector('.status-line dl > div:nth-child(2) dd').textContent) > 5"
        )
        page.get_by_role("button", name="Take over").click()
        expect(page.get_by_role("button", name="Hand over")).to_be_visible()
        playing.settled(page)
        playing.press(page, "ArrowLeft")
        playing.end(page)
        playing.save(page)
        expect(page.get_by_role("button", name="Hand over")).to_be_disabled()
        page.close()
        (episode,) = playing.recorded(studio, study)
        drivers = [step["play"]["seats"]["player"]["driver"] for step in list(episode.steps)[:-1]]
    assert (drivers[0], drivers[-1], set(drivers[1:-1])) == ("human", "human", {"policy"})


def test_there_is_nobody_to_hand_over_to(open_page: Open, api: Api) -> None:
    """Unless the studio was started with a policy."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    expect(page.get_by_role("button", name="Pause")).to_be_enabled()
    expect(page.get_by_role("button", name="Hand over")).to_have_count(0)
