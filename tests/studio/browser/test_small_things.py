"""What the page says of numbers, studies and people, and what a key does that was an action a moment ago."""

import pytest
from playwright.sync_api import expect

from tests.studio.browser import player_page, playing
from tests.studio.browser.conftest import Console, Open
from tests.studio.player import played
from tests.studio.studio_process import Api, StudioProcess

pytestmark = pytest.mark.thorough


@pytest.mark.parametrize("key", ["Space", "ArrowRight", "Enter"])
def test_a_key_right_after_the_end_of_a_game_answers_nothing(open_page: Open, api: Api, key: str) -> None:
    """Whoever still hammers on keys has not read the question; however long they do."""
    page = player_page.begun(open_page, api, player_page.PRESSED)
    playing.press(page, "ArrowRight", "ArrowRight")
    page.keyboard.press("ArrowRight")
    asked = page.get_by_role("dialog", name="The episode is over")
    expect(asked).to_be_visible()
    since = page.evaluate("performance.now()")
    for _ in range(3):
        page.keyboard.press(key)
        since += 400
        page.wait_for_function("(since) => performance.now() > since", arg=since)  # longer than haste lasts
    page.keyboard.press(key)
    playing.settled(page)
    expect(asked).to_be_visible()
    assert player_page.sent(page, "confirm") == []
    playing.save(page)


def test_episodes_are_counted_alike_and_say_their_study(open_page: Open, api: Api) -> None:
    """The first is 1 in the player, in the table and in the replay; a name that is long does not break it."""
    name = "A study with a name"
    study = api.study(name, player_page.PRESSED)
    episode, second = played(api, study, 1, 2)
    page = open_page(f"#episodes?study={study['id']}")
    rows = page.locator("table.episodes tbody tr")
    expect(rows).to_have_count(2)
    expect(page.locator(f"[data-episode='{episode}'] .of")).to_have_text("Episode 1")
    expect(page.locator(f"[data-episode='{second}'] .of")).to_have_text("Episode 2")
    expect(page.locator(f"[data-episode='{episode}'] .study")).to_have_text(name)
    for width in (1280, 1000, 800):
        page.set_viewport_size({"width": width, "height": 700})
        lines = page.locator(f"[data-episode='{episode}'] .of").evaluate("(it) => it.getClientRects().length")
        assert lines == 1, width
    page.goto(f"/#replay?episode={second}")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Episode 2")


def test_own_notes_are_signed_with_you(open_page: Open, api: Api, studio: StudioProcess) -> None:
    """And those of others with their id: nobody knows their own by heart."""
    study = api.study("Noted", player_page.PRESSED)
    (episode,) = played(api, study, 1)
    page = open_page(f"#replay?episode={episode}")
    page.get_by_label("Write a note (n)").fill("Look here")
    page.get_by_role("button", name="Save").click()
    about = page.locator(".note-about")
    expect(about).to_contain_text("you")
    reviewer = open_page(f"#replay?episode={episode}", person=studio.person("reviewer", "rita"))
    expect(reviewer.locator(".note-text")).to_have_text("Look here")
    expect(reviewer.locator(".note-about")).not_to_contain_text("you")


def test_a_visitor_sees_the_study_before_a_name_is_asked_for(open_page: Open, api: Api, console: Console) -> None:
    """If it is closed, that is said at once, and nothing is asked."""
    console.expect("401")
    console.expect("403")
    study = api.study("Lakes of ice", {"environment": "FrozenLake-v1"})
    page = open_page(f"#study?id={study['id']}", person=Api(api.url))
    expect(page.locator(".login")).to_contain_text("Lakes of ice")
    api.put(f"studies/{study['id']}/state", enabled=False)
    page.reload()
    expect(page.get_by_role("alert")).to_contain_text("not open now")
    expect(page.get_by_label("Your name")).to_have_count(0)
