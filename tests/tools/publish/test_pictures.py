"""The pictures of the card."""

from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tools.publish.facts import facts
from rlds_kit.tools.publish.pictures import pictures
from tests.tools.publish.recording import ABOUT


def drawn(directory: Path, shape: tuple[int, ...], dtype: type = np.uint8, length: int = 20) -> list[str]:
    """The pictures of a dataset whose observations are arrays of this shape."""
    spec = specs.Dict({"observation": specs.Array(shape, dtype), "reward": specs.Array((), np.float64)})
    with EpisodeWriter(directory / "d", spec) as writer, writer.episode() as episode:
        episode.start(np.zeros(shape, dtype))
        for _ in range(length - 1):
            episode.step(1, 1.0, np.ones(shape, dtype))
    dataset = rlds_kit.open(directory / "d")
    return pictures(dataset, facts(dataset, ABOUT), directory)


@pytest.mark.parametrize("shape", [(210, 160, 3), (84, 84), (84, 84, 1)])
def test_images_are_shown(tmp_path: Path, shape: tuple[int, ...]) -> None:
    """In colour and in grey."""
    assert drawn(tmp_path, shape) == ["returns.png", "actions.png", "frames.png"]


@pytest.mark.parametrize(("shape", "dtype"), [((4,), np.uint8), ((4, 4), np.uint8), ((84, 84), np.float32)])
def test_other_arrays_are_no_images(tmp_path: Path, shape: tuple[int, ...], dtype: type) -> None:
    assert "frames.png" not in drawn(tmp_path, shape, dtype)


def test_short_episode(tmp_path: Path) -> None:
    """As many moments as there are."""
    assert "frames.png" in drawn(tmp_path, (84, 84), length=2)
