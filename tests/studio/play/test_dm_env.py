"""Environments of dm_env are played as all others, and recorded as EnvLogger would."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from dm_env import specs as dm_specs

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.studio.play.host import Scene
from rlds_kit.trials import Turn
from rlds_kit.trials.environments.controls import controls_of
from rlds_kit.trials.environments.dm_env_playable import DmEnvPlayable, space_of
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.workers import requests
from tests.studio.play import catch
from tests.studio.play.server import playing, run, serving

MODULE = "tests.studio.play.catch"


def scene(function: str, directory: Path) -> Scene:
    """A step for each press."""
    spec = EnvironmentSpec(f"{MODULE}:{function}", interface="dm_env")
    return Scene(open=requests.Open(spec, str(directory)), turn=Turn.PRESS, seed=lambda number: 5 + number)


@pytest.mark.parametrize("function", ["seeded", "unseeded"])
def test_r25_dm_env_is_played_and_recorded(tmp_path: Path, function: str) -> None:
    """Two episodes; the same actions with the recorded seed give the same steps; an unknown seed is none."""
    with serving({"s": scene(function, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                assert (await client.next_of("welcome"))["cameras"] == ["default", "eye"]
                for number in range(2):
                    since = len(client.frames)
                    for step in range(1, catch.ROWS):
                        await client.press("ArrowRight" if step % 2 else "ArrowLeft")
                        await client.frame_of(step, since)
                    await client.next_of("ask", is_over=True)
                    said = len(client.said)
                    await client.send("confirm", save=True, completed=True)
                    assert (await client.next_of("saved", said))["steps"] == catch.ROWS - 1
                    if number == 0:
                        await client.next_of("state", said, phase="waiting")
                        await client.send("start")
                        await client.next_of("state", said, phase="running")
                assert b"board" in client.payloads[0]

        run(play)
    dataset = rlds_kit.open(tmp_path)
    assert dataset.episodes[0].end is EpisodeEnd.TERMINATED
    assert [episode.seed for episode in dataset.episodes] == ([5, 6] if function == "seeded" else [None, None])
    for episode in dataset.episodes if function == "seeded" else ():
        assert_same_offline(episode)


def assert_same_offline(episode: Any) -> None:
    """The same actions in an environment with the same seed give the same steps."""
    env = catch.seeded(episode.seed)
    found, steps = env.reset(), list(episode.steps)
    for step in steps[:-1]:
        np.testing.assert_equal(step["observation"], found.observation)
        found = env.step(step["action"])
        assert (step["reward"], step["discount"]) == (found.reward, found.discount)
        assert step["reward"].dtype == np.float32
        assert step["action"].dtype == np.int32
    np.testing.assert_equal(steps[-1]["observation"], found.observation)


def test_a_seed_of_ones_own_is_refused() -> None:
    """Every episode would be recorded with a seed that was not used."""
    with pytest.raises(ValueError, match="each episode has another one"):
        DmEnvPlayable(EnvironmentSpec(f"{MODULE}:seeded", {"seed": 3}, "dm_env"))


@pytest.mark.parametrize(
    ("spec", "count"),
    [
        (dm_specs.BoundedArray((2, 3), np.float64, -1, 1), 6),
        (dm_specs.BoundedArray((), np.float32, 0, 1), 1),
        (dm_specs.BoundedArray((), np.int64, -1, 1), 3),
        (dm_specs.DiscreteArray(4), 4),
    ],
)
def test_actions_of_dm_env_have_keys(spec: Any, count: int) -> None:
    """Numbers are axes, however they are nested; choices have keys of their own."""
    controls = controls_of(object(), space_of(spec))
    assert max(len(controls.axes), len({action for _, action, _ in controls.actions})) == count


def test_actions_that_nobody_could_give_are_refused() -> None:
    """The message says what there is."""
    with pytest.raises(ValueError, match="for people to play"):
        space_of(dm_specs.Array((2,), np.float32))
