"""What is recorded is what the environment did, and what the person saw and held."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import ale_py
import gymnasium
import numpy as np
import pytest

import rlds_kit
from tests.studio.play.server import Client, playing, pressed, run, scene, serving
from tests.studio.play.test_playing import end

gymnasium.register_envs(ale_py)
ARROWS = ("ArrowUp", "ArrowRight", "ArrowLeft", "ArrowDown")
GAMES = [
    ("ALE/Breakout-v5", [("Space",), *[(ARROWS[1 + number % 2],) for number in range(40)]]),
    ("ALE/Riverraid-v5", [(ARROWS[number % 4], "Space") for number in range(30)]),
    ("MountainCar-v0", [(ARROWS[1 + number % 2],) for number in range(30)]),
    ("FrozenLake-v1", [("ArrowRight",), ("ArrowDown",)]),
]


async def press_all(client: Client, chords: list[tuple[str, ...]]) -> None:
    """Presses one chord after another, each after the frame of the one before was painted."""
    for number, keys in enumerate(chords):
        frame = await client.frame_of(number)
        await client.press(*keys, shown=frame.sequence)
    await client.frame_of(len(chords))


def assert_same_offline(environment: str, episode: Any, kwargs: dict[str, Any]) -> None:
    """The same actions with the same seed give the same steps, bit for bit."""
    with gymnasium.make(environment, **kwargs) as offline:
        observation, info = offline.reset(seed=episode.seed)
        steps = list(episode.steps)
        for step in steps[:-1]:
            recorded = np.asarray(step["observation"])
            assert recorded.tobytes() == np.asarray(observation).tobytes()
            assert step["info"] == info
            observation, reward, *_, info = offline.step(step["action"])
            assert step["reward"] == reward
        assert np.asarray(steps[-1]["observation"]).tobytes() == np.asarray(observation).tobytes()


@pytest.mark.parametrize(("game", "chords"), GAMES)
def test_r17_recorded_steps_are_those_of_the_same_actions_offline(
    game: str, chords: list[tuple[str, ...]], tmp_path: Path
) -> None:
    """And every key is recorded with the frame that was on the screen, here always the latest."""
    with serving({"s": pressed(game, tmp_path, seed=lambda _: 12)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await press_all(client, chords)
                await end(client, save=True, completed=True)

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    assert episode.length == len(chords) + 1
    assert_same_offline(game, episode, {})
    for number, (step, keys) in enumerate(zip(list(episode.steps)[:-1], chords, strict=True)):
        facts = step["play"]["seats"]["player"]
        assert facts["keys"] == dict.fromkeys(keys, 1.0)
        assert (facts["shown_frame"], facts["driver"], facts["is_default"]) == (number, "human", False)


def test_r17_a_game_on_a_clock_is_recorded_as_it_was_too(tmp_path: Path) -> None:
    """At sixty steps a second, with keys that come and go whenever they like."""
    game = "ALE/SpaceInvaders-v5"
    with serving({"s": scene(game, tmp_path, fps=60.0, max_steps=90)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                for number in range(0, 60, 3):
                    await client.reached(number)
                    await client.send("keys", held={ARROWS[1 + number % 2]: 1.0, "Space": 1.0})
                await client.next_of("ask", is_completed=True)
                await client.send("confirm", save=True, completed=True)
                await client.next_of("saved", steps=90)

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    assert_same_offline(game, episode, {})
    assert len({int(step["action"]) for step in episode.steps}) > 2


def test_r18_three_keys_are_one_chord(tmp_path: Path) -> None:
    """All that is held is recorded, also what means nothing."""
    with serving({"s": pressed("ALE/Riverraid-v5", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await press_all(client, [("ArrowUp", "ArrowRight", "Space", "KeyZ")])
                await end(client, save=True, completed=True)

        run(play)
    step = next(iter(rlds_kit.open(tmp_path).episodes[0].steps))
    with gymnasium.make("ALE/Riverraid-v5") as env:
        assert env.unwrapped.get_action_meanings()[step["action"]] == "UPRIGHTFIRE"  # type: ignore[attr-defined]
    assert set(step["play"]["seats"]["player"]["keys"]) == {"ArrowUp", "ArrowRight", "Space", "KeyZ"}


def test_r19_sticks_are_recorded_unrounded(tmp_path: Path) -> None:
    """The action is what the stick says, in the precision of the environment's own."""
    value = 0.12345678901234566
    with serving({"s": pressed("MountainCarContinuous-v0", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.send("keys", held={"Axis0": value})
                await client.frame_of(1)
                await end(client, save=True, completed=True)

        run(play)
    episode = rlds_kit.open(tmp_path).episodes[0]
    step = next(iter(episode.steps))
    assert step["play"]["seats"]["player"]["keys"] == {"Axis0": value}
    assert step["action"].tobytes() == np.array([value], np.float32).tobytes()
    assert_same_offline("MountainCarContinuous-v0", episode, {})


def test_continuous_actions_rest_when_nothing_is_pressed(tmp_path: Path) -> None:
    """On a clock the default action has the dtype of the space."""
    with serving({"s": scene("Pendulum-v1", tmp_path, fps=60.0, max_steps=5)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.next_of("ask")
                await client.send("confirm", save=True, completed=True)
                await client.next_of("saved")

        run(play)
    episode = rlds_kit.open(tmp_path).episodes[0]
    assert all(step["action"].tobytes() == bytes(4) for step in episode.steps)
    assert_same_offline("Pendulum-v1", episode, {})


def test_a_frame_that_was_never_sent_is_no_frame_that_was_seen(tmp_path: Path) -> None:
    """What a browser says is not believed."""
    with serving({"s": pressed("MountainCar-v0", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.frame_of(0)
                await client.press("ArrowLeft", shown=77)
                await client.frame_of(1)
                await client.send("ack", seq=78)
                await client.next_of("error", code="frame")
                await end(client, save=True, completed=True)

        run(play)
    step = next(iter(rlds_kit.open(tmp_path).episodes[0].steps))
    assert step["play"]["seats"]["player"]["shown_frame"] is None


@pytest.mark.parametrize("game", ["MountainCar-v0", "ALE/Breakout-v5"])
def test_what_there_was_to_see_is_recorded_where_that_is_wanted(game: str, tmp_path: Path) -> None:
    """Every pixel as it was drawn, of the first and the last step too; it takes a part of what it is."""
    plain = pressed(game, tmp_path, seed=lambda _: 12)
    with serving({"s": replace(plain, open=replace(plain.open, are_pictures_recorded=True))}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await press_all(client, [("ArrowRight",), ("ArrowLeft",)] * 8)
                await end(client, save=True, completed=True)

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes[:1]
    steps = list(episode.steps)
    with gymnasium.make(game, render_mode="rgb_array") as offline:
        offline.reset(seed=episode.seed)
        for step in steps[:-1]:
            assert np.array_equal(step["picture"], np.asarray(offline.render()))
            offline.step(step["action"])
        assert np.array_equal(steps[-1]["picture"], np.asarray(offline.render()))
    shard = sum(each.stat().st_size for each in tmp_path.glob("*.riegeli"))
    assert shard < sum(step["picture"].nbytes for step in steps) / 10


def test_pictures_are_recorded_only_where_that_is_wanted(tmp_path: Path) -> None:
    """They are no part of what the environment gives."""
    with serving({"s": pressed("MountainCar-v0", tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await press_all(client, [("ArrowRight",)])
                await end(client, save=True, completed=True)

        run(play)
    assert "picture" not in rlds_kit.open(tmp_path).episodes[0].fields
