"""The table and the replay in the studio: each sees what is theirs to see, and what one deletes is gone."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.studio.browser.conftest import Console, Open
from tests.studio.player import played
from tests.studio.studio_process import CORRIDOR, Api, StudioProcess


@pytest.fixture
def study(api: Api, studio: StudioProcess) -> dict[str, Any]:
    """A study in which the designer played two episodes, and ann one."""
    study = api.study("corridors", {"environment": CORRIDOR, "name": "Corridor", "turn": "press"})
    own = played(api, study, 3, 4)
    return {**study, "own": own, "anns": played(studio.person("participant", "ann"), study, 5)}


def _table(open_page: Open, study: Mapping[str, Any], **options: Any) -> Page:
    return open_page(f"#episodes?study={study['id']}", **options)


def _said(page: Page) -> Locator:
    """The labels of steps."""
    return page.get_by_role("region", name="Annotations of steps").locator(".label")


def test_r28_a_designer_sees_all_of_a_study(open_page: Open, study: Mapping[str, Any]) -> None:
    """Its own and those of others, who have no name; filters leave some."""
    page = _table(open_page, study)
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text("completed")
    expect(page.locator("tbody")).not_to_contain_text("ann")
    page.get_by_role("combobox", name="Player").fill("me")
    expect(rows).to_have_count(2)
    page.get_by_role("combobox", name="Status").select_option("rejected")
    expect(page.get_by_role("heading", name="No episode fits")).to_be_visible()


def test_r28_a_participant_sees_their_own(open_page: Open, studio: StudioProcess, study: Mapping[str, Any]) -> None:
    """Nothing of others, and no filter for players."""
    page = _table(open_page, study, person=studio.person("participant", "ann"))
    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.get_by_role("combobox", name="Player")).to_have_count(0)


def test_r29_deleting_asks_first(open_page: Open, api: Api, study: Mapping[str, Any]) -> None:
    """No means no; yes takes the chosen episodes out of the table, and their link says that they are gone."""
    page = _table(open_page, study)
    page.locator("tbody").get_by_role("checkbox").first.check()
    delete = page.get_by_role("toolbar", name="Selected episodes").get_by_role("button", name="Delete…")
    delete.click()
    question = page.get_by_role("alertdialog", name="Delete 1 episode?")
    question.get_by_role("button", name="Cancel").click()
    expect(page.locator("tbody tr")).to_have_count(3)
    delete.click()
    question.get_by_role("button", name="Delete").click()
    expect(page.locator("tbody tr")).to_have_count(2)
    assert len(api.episodes(study=study["id"])) == 2


def test_r29_an_episode_is_deleted_from_its_replay(open_page: Open, api: Api, study: Mapping[str, Any]) -> None:
    """And the page goes back to the table, or on to the next one."""
    page = open_page(f"#replay?episode={study['own'][0]}")
    expect(page.get_by_role("heading", name="Corridor Episode 1")).to_be_visible()
    page.get_by_role("button", name="Delete…").click()
    page.get_by_role("alertdialog").get_by_role("button", name="Delete").click()
    expect(page).to_have_url(re.compile("#episodes"))
    assert study["own"][0] not in {each["id"] for each in api.episodes(study=study["id"])}


def test_r35_others_episodes_cannot_be_opened(
    open_page: Open, studio: StudioProcess, study: Mapping[str, Any], console: Console
) -> None:
    """A participant who guesses a link is told no, and learns nothing of the episode."""
    console.expect("status of 403")
    page = open_page(f"#replay?episode={study['own'][0]}", person=studio.person("participant", "ann"))
    expect(page.get_by_role("alert")).to_contain_text("you may not see this episode")


def test_r32_two_people_tag_at_once(open_page: Open, api: Api, studio: StudioProcess, study: Mapping[str, Any]) -> None:
    """A designer and a participant see each other's tags at once; the table has both; each takes back their own."""
    episode = study["anns"][0]
    designer = open_page(f"#replay?episode={episode}")
    ann = open_page(f"#replay?episode={episode}", person=studio.person("participant", "ann"))
    for page in (designer, ann):
        expect(page.get_by_text("live", exact=True)).to_be_visible()
    designer.keyboard.press("1")
    expect(_said(designer)).to_have_text(["success"])  # so that the order is known
    ann.keyboard.press("2")
    for page in (designer, ann):
        expect(_said(page)).to_have_text(["success", "failure"])
    expect(ann.get_by_role("button", name="Take back success of step 0")).to_have_count(0)
    ann.get_by_role("button", name="Take back failure of step 0").click()
    expect(_said(designer)).to_have_text(["success"])
    (row,) = [each for each in api.episodes(study=study["id"]) if each["id"] == episode]
    assert row["tags"] == ["success"]


def test_r30_keys_and_status_are_shown(open_page: Open, study: Mapping[str, Any]) -> None:
    """The replay of a played episode shows which keys were held, and what became of the episode."""
    page = open_page(f"#replay?episode={study['own'][0]}&step=1")
    expect(page.get_by_role("heading", name="Step 1", exact=True)).to_be_visible()
    expect(page.get_by_label("Keys held")).to_have_text("←")
    expect(page.locator(".replay-heading .chip").first).to_have_text("completed")
