"""Rules that combine annotations: values that float64 cannot represent."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers, logger

LONG = [2**53 + 1, 2**62 + 1, 2**60 + 3]


def amended(directory: Path, recorded: np.ndarray, *by_source: Any) -> np.ndarray:
    """The rewards, of three actions, as several sources amend them."""
    with logger.EpisodeWriter(directory) as writer:
        writer.write(np.zeros(4), np.zeros(3), recorded, terminated=True)
    dataset = rlds_kit.open(directory)
    for number, rewards in enumerate(by_source):
        dataset.annotate("layer", [layers.rewards(dataset.episodes[0], rewards)], source=f"source {number}")
    found: np.ndarray = rlds_kit.open(directory).as_amended().episodes[0]["reward"]
    return found[:3]


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_long_integers_of_one_source_are_exact(tmp_path: Path, dtype: Any) -> None:
    """They were rounded through float64."""
    given = np.array([*LONG[:2], np.iinfo(dtype).max], dtype)
    found = amended(tmp_path, np.zeros(3, dtype), given)
    assert found.dtype == dtype
    assert found.tolist() == given.tolist()


def test_negative_zero_of_one_source_is_exact(tmp_path: Path) -> None:
    assert np.signbit(amended(tmp_path, np.ones(3), np.array([-0.0, 0.0, -0.0]))).tolist() == [True, False, True]


def test_the_mean_of_two_sources(tmp_path: Path) -> None:
    """Also of integers."""
    assert amended(tmp_path, np.zeros(3, np.int64), np.array([1, 2, 3]), np.array([3, 4, 7])).tolist() == [2, 3, 5]


def test_long_integers_are_exact_where_one_source_is_alone(tmp_path: Path) -> None:
    """Beside steps of which two sources have a mean."""
    with logger.EpisodeWriter(tmp_path) as writer:
        writer.write(np.zeros(4), np.zeros(3), np.zeros(3, np.int64), terminated=True)
    dataset = rlds_kit.open(tmp_path)
    episode = dataset.episodes[0]
    dataset.annotate("layer", [layers.rewards(episode, np.array(LONG))], source="a")
    dataset.annotate("layer", [layers.reward(episode, LONG[0] + 1, 1)], source="b")
    found = rlds_kit.open(tmp_path).as_amended().episodes[0]["reward"]
    assert (found[0], found[2]) == (LONG[0], LONG[2])
