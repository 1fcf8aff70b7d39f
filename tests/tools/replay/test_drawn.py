"""Drawing recorded episodes again, from seed and actions."""

import itertools
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.logger import EpisodeWriter, GymnasiumLogger
from rlds_kit.tools.replay import NotDrawnError, drawn

STEPS = 12


def record(directory: Path, environment: str = "CartPole-v1", **options: Any) -> tuple[rlds_kit.Dataset, list[Any]]:
    """An episode whose pictures are not recorded, and what there was to see."""
    with GymnasiumLogger(gymnasium.make(environment, render_mode="rgb_array"), directory, **options) as env:
        env.action_space.seed(1)
        env.reset(seed=7)
        seen = [env.render()]
        for _ in range(STEPS):
            _, _, terminated, _, _ = env.step(env.action_space.sample())
            seen.append(env.render())
            if terminated:
                break
    return rlds_kit.open(directory), seen


@pytest.mark.parametrize("environment", ["CartPole-v1", "MountainCarContinuous-v0", "FrozenLake-v1"])
def test_what_a_person_saw_is_seen_again(environment: str, tmp_path: Path) -> None:
    """One picture a step, each pixel as it was."""
    dataset, seen = record(tmp_path, environment)
    again = list(drawn(dataset.episodes[0]))
    assert len(again) == len(seen) == dataset.episodes[0].length
    assert all(np.array_equal(one, other) for one, other in zip(again, seen, strict=True))
    assert not np.array_equal(again[0], again[-1])


def test_an_environment_that_does_something_else_is_not_shown(tmp_path: Path) -> None:
    """The pictures up to that step are yielded, and the error has the difference and its place."""
    dataset, _ = record(tmp_path / "recorded")
    episode = dataset.episodes[0]
    steps = list(episode.steps)
    other = EpisodeWriter(tmp_path / "other", environment=episode.provenance, record_time=False)
    with other as writer, writer.episode(seed=episode.seed) as copy:
        copy.start(steps[0]["observation"])
        for number, (step, after) in enumerate(itertools.pairwise(steps)):
            observation = after["observation"] + (number == 3)
            copy.step(step["action"], step["reward"], observation, truncated=number == len(steps) - 2)
    pictures = drawn(rlds_kit.open(tmp_path / "other").episodes[0])
    shown = [next(pictures) for _ in range(4)]
    with pytest.raises(NotDrawnError, match=r"from step 4 on .* observation"):
        next(pictures)
    assert len(shown) == 4


def test_without_a_seed_pictures_are_unknown(tmp_path: Path) -> None:
    """The error says what to do."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.float32(0))
        episode.step(1, 0.0, np.float32(1), truncated=True)
    with pytest.raises(NotDrawnError, match="no environment id"):
        next(drawn(rlds_kit.open(tmp_path).episodes[0]))
