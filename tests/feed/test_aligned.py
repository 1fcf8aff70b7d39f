"""Memory that TensorFlow takes without a copy."""

import gc
import tracemalloc
from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.feed.aligned import ALIGNMENT, aligned_zeros
from rlds_kit.feed.episodes import WholeEpisodes
from rlds_kit.logger import EpisodeWriter
from tests.loader.recording import numbered


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (5, 7)])
def test_arrays_are_aligned_zeros(shape: tuple[int, ...], dtype: str) -> None:
    """Whatever their dtype and size, they are zeros and begin where TensorFlow wants them to."""
    array = aligned_zeros("observation", shape, np.dtype(dtype))
    assert array.shape == shape
    assert array.dtype == dtype
    assert not array.any()
    assert not array.size or array.ctypes.data % ALIGNMENT == 0


def test_stretches_are_decoded_into_aligned_memory(tmp_path: Path) -> None:
    """So that TensorFlow does not copy them."""
    dataset = numbered(tmp_path, (17, 9))
    stretch = WholeEpisodes(dataset.episodes, dataset.source()).stretch(1, range(9))
    assert stretch
    assert all(values.ctypes.data % ALIGNMENT == 0 for values, _ in stretch.values() if values.dtype != object)


def test_step_that_is_kept_does_not_keep_its_episode(tmp_path: Path) -> None:
    """What a shuffle holds is what its steps weigh, however large the episodes are."""
    declared = specs.Dict({"observation": specs.Array((64, 64), np.uint8), "action": specs.Array((), np.int64)})
    with EpisodeWriter(tmp_path / "large", declared, record_time=False) as writer:
        for _ in range(12):
            with writer.episode() as episode:
                episode.start(np.zeros((64, 64), np.uint8))
                for step in range(1, 256):
                    episode.step(0, 0.0, np.full((64, 64), step, np.uint8))
    episodes = rlds_kit.open(tmp_path / "large").as_tf_dataset()
    tracemalloc.start()
    try:
        kept = [step["observation"] for episode in episodes for step in episode["steps"].take(1)]
        gc.collect()
        held, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept) == 12
    assert held < 6 << 20  # two or three episodes of 1 MiB are read ahead
