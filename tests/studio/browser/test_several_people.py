"""Several people in browsers of their own play one game with programs, through lobby, loss and return."""

import itertools
import re
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.studio.browser.conftest import PHONE, Console, Open, Save
from tests.studio.browser.playing import Cable, expect_fact, recorded
from tests.studio.browser.several_people import PONG, ZOMBIES, Game, lobby, state_of
from tests.studio.studio_process import StudioProcess, running

pytestmark = pytest.mark.thorough


@pytest.fixture(scope="module")
def arcade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio that knows PettingZoo."""
    with running(tmp_path_factory.mktemp("arcade"), "--workers", "1") as studio:
        yield studio


def _serve_until_a_point(pages: list[Page]) -> None:
    """Both sides see that it was won or lost; who presses nothing for long pauses the game."""
    has_point = "() => !['0', '\\u2013'].includes(document.querySelectorAll('.status-line dd')[3].textContent)"
    while not all(page.evaluate(has_point) for page in pages[:2]):
        for page in pages:
            page.keyboard.press("Space")


def _slow(game: Game, people: int) -> Any:
    return pytest.param(game, people, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("game", "people"),
    [(ZOMBIES, 2), _slow(ZOMBIES, 3), _slow(ZOMBIES, 4), _slow(PONG, 2), _slow(PONG, 3), _slow(PONG, 4)],
    ids=lambda value: value.id.partition("/")[2] if isinstance(value, Game) else str(value),
)
def test_c33_c34_c36_c37_g27_people_and_programs_play_together(
    arcade: StudioProcess, open_page: Open, screenshot: Save, console: Console, game: Game, people: int
) -> None:
    """They meet in the lobby, count down, play; one is lost, a program acts, the person comes back; a text; the end."""
    console.expect("already in CLOSING or CLOSED state")  # of the cable that is pulled
    study = game.study(arcade.designer, people)
    cable = Cable()
    names = [f"{name} of {people} in {game.id}" for name in ("ann", "bob", "eve", "joe")[:people]]
    persons = [arcade.person("participant", name) for name in names]
    first = open_page(lobby(study), person=persons[0], prepare=cable.lay, viewport=PHONE, color_scheme="dark")
    waiting = first.get_by_role("region", name="Lobby")
    expect(waiting).to_contain_text(f"1 of {people} people is here")
    screenshot(first, "lobby_phone")
    pages = [first, *(open_page(lobby(study), person=each) for each in persons[1:])]
    expect(waiting).to_contain_text("Everybody is here")
    for page, seat in zip(pages, game.seats, strict=False):
        expect(page.get_by_text(f"You are {seat}")).to_be_visible()
        expect(page.locator(".overlay")).to_have_count(0)  # who waited in the lobby is ready
        expect(state_of(page, seat)).to_contain_text("playing")
    if people < len(game.seats):
        expect(state_of(pages[1], game.seats[-1])).to_contain_text("program")
    for page in pages:
        page.keyboard.press("ArrowUp")
    second = pages[1]
    second.get_by_label("Message to the others").fill("Left side is mine!")
    second.get_by_role("button", name="Send").click()
    expect(first.get_by_role("region", name="Conversation")).to_contain_text(f"{game.seats[1]} Left side is mine!")
    screenshot(second, "together")
    cable.pull()
    expect(state_of(second, game.seats[0])).to_contain_text("lost connection")
    second.locator(".arena").focus()
    step = second.locator(".status-line dd").nth(1)
    before = int(step.inner_text().replace(",", ""))
    second.wait_for_function(
        "before => Number(document.querySelectorAll('.status-line dd')[1].textContent.replace(',', '')) > before + 3",
        arg=before,
    )
    cable.plug()
    expect(state_of(second, game.seats[0])).to_contain_text("playing")
    expect(first.locator(".overlay")).to_have_count(0)
    if game is PONG:
        _serve_until_a_point(pages)
    second.get_by_role("button", name="End episode").click()
    dialog = second.get_by_role("dialog")
    dialog.get_by_role("checkbox").set_checked(True)
    dialog.get_by_role("button", name="Save").click()
    for page in pages:
        expect(page.get_by_role("status").filter(has_text=re.compile("is recorded as")).first).to_be_visible()
    (episode,) = recorded(arcade, study)
    steps = list(episode.steps)[:-1]
    drivers = [step["play"]["seats"][game.seats[0]]["driver"] for step in steps]
    changes = [drivers[0], *(now for last, now in itertools.pairwise(drivers) if now != last)]
    assert changes == ["human", "actor", "human"]
    assert [text["content"] for step in steps for text in step["play"].get("said", [])] == ["Left side is mine!"]
    kinds = [each["kind"] for each in episode.metadata["participants"].values()]
    assert kinds == ["human"] * people + ["program"] * (len(game.seats) - people)
    scores = [tuple(totals[seat] for seat in game.seats) for _, totals, _ in game.replayed(episode)]
    if game is PONG:
        assert all(score == (won, -won, won, -won) for score in scores for won in score[:1])
        assert any(map(any, scores))


def test_g27_who_had_started_before_the_connection_was_lost_is_not_waited_for(
    arcade: StudioProcess, open_page: Open, console: Console
) -> None:
    """The page repeats on the new connection that the person is ready, without a click."""
    console.expect("already in CLOSING or CLOSED state")  # of the cable that is pulled
    study = ZOMBIES.study(arcade.designer, 2, countdown_seconds=0.0)
    cable = Cable()
    persons = [arcade.person("participant", name) for name in ("ready", "slow")]
    ready = open_page(lobby(study), person=persons[0], prepare=cable.lay)
    slow = open_page(lobby(study), person=persons[1])
    expect(ready.locator(".overlay")).to_have_count(0)
    slow.get_by_role("button", name="End episode").click()
    slow.get_by_role("dialog").get_by_role("button", name="Save").click()
    ready.get_by_role("button", name="Start episode 2").click()
    expect(ready.get_by_role("status", name="Waiting for the others")).to_be_visible()
    cable.pull()
    expect(state_of(slow, ZOMBIES.seats[0])).to_contain_text("lost connection")
    cable.plug()
    expect(state_of(slow, ZOMBIES.seats[0])).not_to_contain_text("lost connection")
    slow.get_by_role("button", name="Start episode 2").click()
    for page in (ready, slow):
        expect(page.locator(".overlay")).to_have_count(0)
        expect_fact(page, "Episode", "2")
