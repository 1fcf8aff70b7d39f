"""A stage that draws ahead: what it records is what it records without, and it says which pictures came true."""

from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest

import rlds_kit
from rlds_kit.trials.environments.playable import SEAT, EnvironmentSpec
from rlds_kit.trials.frames.picture import Codec, Quality
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.stage import Stage

VIEW: Final = requests.View(quality=Quality.EXACT)
GAMES: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("ALE/Breakout-v5", {}),  # sticky actions
    ("ALE/Breakout-v5", {"repeat_action_probability": 0.0, "frameskip": (2, 6)}),
    ("CartPole-v1", {}),
    ("FrozenLake-v1", {}),
)


def played(directory: Path, name: str, kwargs: dict[str, Any], *, looks: bool) -> tuple[list[Any], list[bool | None]]:
    """Plays two episodes with the same actions; returns what was shown, and which pictures came true."""
    stage = Stage(requests.Open(EnvironmentSpec(name, kwargs), str(directory), are_pictures_recorded=True))
    actions, chance = stage.opened().ahead, np.random.default_rng(0)
    shown: list[Any] = []
    came_true: list[bool | None] = []
    for seed in (1, 2):
        shown.append(stage.reset(requests.Reset(VIEW, seed)).picture)
        for _ in range(12):
            ahead = {each: stage.ahead(each, Quality.EXACT) for each in actions} if looks else {}
            action = int(chance.choice(actions))
            done = stage.step(requests.Step(VIEW, {SEAT: action}, {"seats": {}}))
            shown.append((done.picture, done.rewards, done.terminated))
            came_true.append(done.came_true)
            if ahead and done.came_true:
                assert ahead[action].codec in {Codec.PNG, Codec.WEBP}
            if done.terminated:
                break
        stage.finish(requests.Finish({}))
    stage.close()
    return shown, came_true


@pytest.mark.parametrize(("name", "kwargs"), GAMES)
def test_recordings_are_the_same_with_and_without(tmp_path: Path, name: str, kwargs: dict[str, Any]) -> None:
    """Digests, pictures, and what is sent."""
    without, nothing = played(tmp_path / "without", name, kwargs, looks=False)
    shown, came_true = played(tmp_path / "ahead", name, kwargs, looks=True)
    assert shown == without
    assert set(nothing) == {None}
    assert None not in came_true
    assert all(came_true) or (name, kwargs) == GAMES[0]
    digests = [[each.content_digest for each in rlds_kit.open(tmp_path / way).episodes] for way in ("without", "ahead")]
    assert digests[0] == digests[1]
    assert len(set(digests[0])) == 2


def test_a_picture_that_does_not_come_true_is_noticed() -> None:
    """In the pixels, not in the bytes of the encoder; pictures of an episode that is over are forgotten."""
    stage = Stage(requests.Open(EnvironmentSpec("CartPole-v1"), None))
    stage.reset(requests.Reset(VIEW, 1))
    stage.ahead(0, Quality.LOW)
    vars(stage._playable._env.unwrapped)["state"] = np.zeros(4)  # type: ignore[attr-defined,index]  # the pole moves
    assert stage.step(requests.Step(VIEW, {SEAT: 0}, {})).came_true is False
    stage.ahead(1, Quality.LOW)
    assert stage.step(requests.Step(VIEW, {SEAT: 0}, {})).came_true is None
    stage.ahead(0, Quality.LOW)
    stage.reset(requests.Reset(VIEW, 1))
    assert stage.step(requests.Step(VIEW, {SEAT: 0}, {})).came_true is None
    stage.close()


def test_nothing_is_drawn_after_the_end_or_where_nothing_can_be_copied() -> None:
    """The request is refused, and the environment goes on."""
    stage = Stage(requests.Open(EnvironmentSpec("CartPole-v1"), None))
    stage.reset(requests.Reset(VIEW, 1))
    while not stage.step(requests.Step(VIEW, {SEAT: 1}, {})).terminated:
        pass
    with pytest.raises(ValueError, match="draw action 1 ahead"):
        stage.ahead(1, Quality.LOW)
    stage.close()
    other = Stage(requests.Open(EnvironmentSpec("Pendulum-v1"), None))
    other.reset(requests.Reset(VIEW, 1))
    assert other.opened().ahead == ()
    with pytest.raises(ValueError, match="can be copied"):
        other.ahead(0, Quality.LOW)
    other.close()
