"""Several people in browsers of their own play one game with programs, through lobby, loss and return."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pettingzoo
import pytest
from playwright.sync_api import Page, expect

import rlds_kit
from tests.studio.browser.conftest import PHONE, Console, Open, Save
from tests.studio.browser.playing import Cable, recorded
from tests.studio.studio_process import Api, StudioProcess, running

pytestmark = pytest.mark.thorough
GAME = "butterfly/knights_archers_zombies-v11"
SEATS = ("archer_0", "archer_1", "knight_0", "knight_1")
KEYS = ("ArrowUp", "ArrowDown", "ArrowLeft", "ArrowRight", "Space", "KeyQ")
CONTROLS = {
    "actions": [
        {"name": name, "keys": [key]}
        for name, key in zip(("forward", "back", "turn left", "turn right", "attack", "wait"), KEYS, strict=True)
    ],
    "default": 5,
}


@pytest.fixture(scope="module")
def arcade(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StudioProcess]:
    """A studio that knows PettingZoo."""
    with running(tmp_path_factory.mktemp("arcade"), "--workers", "1") as studio:
        yield studio


def zombies(designer: Api, people: int) -> dict[str, Any]:
    """A game of so many people; programs have the other seats, and act for people who are gone."""
    seats = [
        {"name": name, "is_human": number < people, "actor": "random", "controls": CONTROLS}
        for number, name in enumerate(SEATS)
    ]
    together = {"countdown_seconds": 1.0}
    environment = {
        "environment": GAME,
        "interface": "pettingzoo",
        "fps": 10.0,
        "kwargs": {"max_cycles": 5000, "spawn_delay": 100_000},
        "seats": seats,
        "together": together,
    }
    return designer.study(f"Zombies for {people}", environment, instructions="Hold the castle together.")


def lobby(study: Mapping[str, Any]) -> str:
    """The link of its lobby."""
    return f"#lobby?study={study['id']}&environment={study['environments'][0]['id']}"


def state_of(page: Page, seat: str) -> Any:
    """What a page says of a seat."""
    return page.get_by_role("region", name="Players").get_by_role("listitem").filter(has_text=seat)


def assert_same_offline(episode: rlds_kit.Episode) -> None:
    """The recorded actions with the recorded seed give the same observations and rewards."""
    env: Any = pettingzoo.make("parallel", GAME, render_mode="rgb_array", max_cycles=5000, spawn_delay=100_000)
    observations, _ = env.reset(seed=episode.seed)
    steps = list(episode.steps)
    for step in steps[:-1]:
        np.testing.assert_equal(step["observation"], observations)
        observations, rewards, *_ = env.step({name: int(action) for name, action in step["action"].items()})
        assert step["reward"] == rewards
    np.testing.assert_equal(steps[-1]["observation"], observations)
    env.close()


@pytest.mark.parametrize(
    "people", [2, pytest.param(3, marks=pytest.mark.slow), pytest.param(4, marks=pytest.mark.slow)]
)
def test_c33_c34_c36_c37_g27_people_and_programs_play_together(
    arcade: StudioProcess, open_page: Open, screenshot: Save, console: Console, people: int
) -> None:
    """They meet in the lobby, count down, play; one is lost, a program acts, the person comes back; a text; the end."""
    console.expect("already in CLOSING or CLOSED state")  # of the cable that is pulled
    study = zombies(arcade.designer, people)
    cable = Cable()
    names = [f"{name} of {people}" for name in ("ann", "bob", "eve", "joe")[:people]]
    persons = [arcade.person("participant", name) for name in names]
    first = open_page(lobby(study), person=persons[0], prepare=cable.lay, viewport=PHONE, color_scheme="dark")
    waiting = first.get_by_role("region", name="Lobby")
    expect(waiting).to_contain_text(f"1 of {people} people is here")
    screenshot(first, "lobby_phone")
    pages = [first, *(open_page(lobby(study), person=each) for each in persons[1:])]
    expect(waiting).to_contain_text("Everybody is here")
    for page, seat in zip(pages, SEATS, strict=False):
        expect(page.get_by_text(f"You are {seat}")).to_be_visible()
        expect(page.locator(".overlay")).to_have_count(0)  # who waited in the lobby is ready
        expect(state_of(page, seat)).to_contain_text("playing")
    if people < len(SEATS):
        expect(state_of(pages[1], "knight_1")).to_contain_text("program")
    for page in pages:
        page.keyboard.press("ArrowUp")
    second = pages[1]
    second.get_by_label("Message to the others").fill("Left side is mine!")
    second.get_by_role("button", name="Send").click()
    expect(first.get_by_role("region", name="Conversation")).to_contain_text("archer_1 Left side is mine!")
    screenshot(second, "together")
    cable.pull()
    expect(state_of(second, "archer_0")).to_contain_text("lost connection")
    second.locator(".arena").focus()
    step = second.locator(".status-line dd").nth(1)
    before = int(step.inner_text().replace(",", ""))
    second.wait_for_function(
        "before => Number(document.querySelectorAll('.status-line dd')[1].textContent.replace(',', '')) > before + 3",
        arg=before,
    )
    cable.plug()
    expect(state_of(second, "archer_0")).to_contain_text("playing")
    expect(first.locator(".overlay")).to_have_count(0)
    second.get_by_role("button", name="End episode").click()
    dialog = second.get_by_role("dialog")
    dialog.get_by_role("checkbox").set_checked(True)
    dialog.get_by_role("button", name="Save").click()
    for page in pages:
        expect(page.get_by_role("status").filter(has_text=re.compile("is recorded as")).first).to_be_visible()
    (episode,) = recorded(arcade, study)
    steps = list(episode.steps)[:-1]
    drivers = [step["play"]["seats"]["archer_0"]["driver"] for step in steps]
    changes = [drivers[0], *(now for last, now in itertools.pairwise(drivers) if now != last)]
    assert changes == ["human", "actor", "human"]
    assert [text["content"] for step in steps for text in step["play"].get("said", [])] == ["Left side is mine!"]
    kinds = [each["kind"] for each in episode.metadata["participants"].values()]
    assert kinds == ["human"] * people + ["program"] * (len(SEATS) - people)
    assert_same_offline(episode)
