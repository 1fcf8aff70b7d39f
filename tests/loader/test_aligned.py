"""Memory that TensorFlow uses without a copy."""

import gc
import operator
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.loader.episodes import WholeEpisodes, equal_stretches
from rlds_kit.loader.memory import ALIGNMENT, aligned
from rlds_kit.loader.step_arrays import StepArrays
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.reusable_memory import ReusableMemory
from tests.loader.recording import numbered


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float32", "complex128"])
@pytest.mark.parametrize("shape", [(0,), (1,), (3, 0), (5, 7), (300, 301)])
def test_arrays_are_aligned(shape: tuple[int, ...], dtype: str) -> None:
    """Whatever their dtype and size, they begin where TensorFlow wants them to, and can be written to."""
    array = aligned("observation", shape, np.dtype(dtype))
    assert array.shape == shape
    assert array.dtype == dtype
    array[...] = 1
    assert array.all()
    assert not array.size or array.ctypes.data % ALIGNMENT == 0


@pytest.mark.parametrize("form", ["steps", "dense", "torch"])
def test_what_is_kept_of_an_epoch_does_not_change_in_the_next(tmp_path: Path, form: str) -> None:
    """Memory is not reused while an array or a tensor refers to it."""
    dataset = numbered(tmp_path, (300, 270, 330)).select("image")
    expected = [episode["image"] for episode in dataset.episodes]
    forms: dict[str, Callable[[], Iterable[Any]]] = {
        "steps": lambda: [list(episode["steps"].as_numpy_iterator()) for episode in dataset.as_tf_dataset()],
        "dense": lambda: [episode["steps"]["image"].numpy() for episode in dataset.as_dense_tf_dataset()],
        "torch": lambda: map(operator.itemgetter("image"), map(dataset.as_torch_dataset().__getitem__, range(3))),
    }
    epochs = [list(forms[form]()) for _ in range(4)]
    for images in epochs:
        found = [[step["image"] for step in each] for each in images] if form == "steps" else images
        assert all(np.array_equal(np.asarray(each), image) for each, image in zip(found, expected, strict=True))


def test_stretches_are_decoded_into_aligned_memory(tmp_path: Path) -> None:
    """So that TensorFlow does not copy them."""
    dataset = numbered(tmp_path, (17, 9))
    stretch = WholeEpisodes(dataset.episodes, dataset.source()).stretch(1, range(9))
    assert stretch
    assert all(values.ctypes.data % ALIGNMENT == 0 for values, _ in stretch.values() if values.dtype != object)


@pytest.mark.parametrize(
    ("length", "expected"),
    [(1, [0, 1]), (64, [0, 64]), (65, [0, 65]), (95, [0, 95]), (96, [0, 48, 96]), (200, [0, 64, 136, 200])],
)
def test_an_episode_is_cut_into_equal_stretches(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, length: int, expected: list[int]
) -> None:
    """As nearly as blocks of eight steps allow: none is left over that is hardly worth reading."""
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", 64 * 16 * 16)
    dataset = _frames(tmp_path, lengths=(length,), side=16, block_rows=8).select("observation")
    assert WholeEpisodes(dataset.episodes, dataset.source()).bounds(0).tolist() == expected


@given(st.lists(st.integers(1, 40), max_size=30), st.integers(0, 30), st.integers(1, 40))
def test_stretches_cover_an_episode(sizes: list[int], missing: int, count: int) -> None:
    """From step 0, also where the first blocks are missing, to the end, and none is cut within a block."""
    ends = np.cumsum(sizes, dtype=np.int64)
    begins, rows = (ends - sizes).astype(np.int64)[missing:], sum(sizes)
    bounds = equal_stretches(begins, rows, count)
    assert bounds.dtype == np.int64
    assert bounds.tolist() == sorted({0, *bounds.tolist(), rows})
    assert {*bounds[1:-1].tolist()} <= {*begins.tolist()}
    if not missing:
        assert np.diff(bounds).max(initial=0) <= rows / count + max(sizes, default=0)


@pytest.mark.parametrize("lent", [0, 1 << 20, 1 << 30])
def test_views_and_copies_are_the_same_steps(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lent: int) -> None:
    """Whether little memory is lent, or more than may be."""
    dataset = _frames(tmp_path, lengths=(70, 1, 33), side=128)
    monkeypatch.setattr("rlds_kit.loader.memory.LENT_BYTES", lent)
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", 1 << 18)
    for are_small in (False, True):  # as if they were
        monkeypatch.setattr(WholeEpisodes, "are_small", are_small)
        for made, episode in zip(dataset.as_tf_dataset(), dataset.episodes, strict=True):
            steps = list(made["steps"].as_numpy_iterator())
            assert np.array_equal([step["observation"] for step in steps], episode["observation"])
            assert [int(step["action"]) for step in steps] == episode["action"].tolist()


@pytest.mark.parametrize(("side", "most"), [(64, 0), (128, 4 << 20)])
def test_step_that_is_kept_does_not_keep_its_episode(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, side: int, most: int
) -> None:
    """The memory of a shuffle is that of its steps, for episodes of any size, and slightly more for large frames."""
    memory = ReusableMemory(0)
    monkeypatch.setattr("rlds_kit.loader.memory._memory", memory)
    monkeypatch.setattr("rlds_kit.loader.memory.LENT_BYTES", most)
    episodes = _frames(tmp_path, lengths=(1 << 20 >> 2 * (side.bit_length() - 1),) * 16, side=side).as_tf_dataset()
    kept = [step["observation"] for episode in episodes for step in episode["steps"].take(1)]
    gc.collect()
    assert len(kept) == 16
    assert most <= memory.lent_bytes <= most + (5 << 20)  # a few episodes of 1 MiB are read ahead


@pytest.fixture(scope="module")
def sixteen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Sixteen episodes of 150 images."""
    return _frames(tmp_path_factory.mktemp("sixteen"), lengths=(150,) * 16, side=128).path


@pytest.mark.parametrize("are_small", [False, pytest.param(True, marks=pytest.mark.thorough)])
@pytest.mark.parametrize(("lent", "least"), [(0, 0), (8 << 20, 4 << 20), (1 << 30, 16 << 20)])
def test_episodes_that_are_kept_keep_a_stretch_each_while_little_is_lent(
    sixteen: Path, monkeypatch: pytest.MonkeyPatch, lent: int, least: int, are_small: bool
) -> None:
    """A shuffle of episodes, large or small, refers to about half of the memory limit; the steps are the same."""
    memory = ReusableMemory(0)
    monkeypatch.setattr("rlds_kit.loader.memory._memory", memory)
    monkeypatch.setattr("rlds_kit.loader.memory.LENT_BYTES", lent)
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", 1 << 20)
    monkeypatch.setattr(WholeEpisodes, "are_small", are_small)
    kept = list(rlds_kit.open(sixteen).as_tf_dataset())
    gc.collect()
    assert least <= memory.lent_bytes <= min(lent // 2, 16 << 20) + (3 << 20)
    for episode in kept:
        assert [int(step["observation"][0, 0]) for step in episode["steps"]] == list(range(150))


@pytest.mark.parametrize("are_small", [False, True])
@pytest.mark.parametrize("lent", [0, 1 << 30])
def test_iteration_goes_on_from_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, lent: int, are_small: bool
) -> None:
    """In the middle of a stretch, be its steps views or copies; two iterators do not disturb each other."""
    monkeypatch.setattr("rlds_kit.loader.memory.LENT_BYTES", lent)
    monkeypatch.setattr("rlds_kit.loader.episodes.STRETCH_BYTES", 1 << 20)
    monkeypatch.setattr(WholeEpisodes, "are_small", are_small)
    dataset = _frames(tmp_path / "data", lengths=(150, 70, 150), side=128)
    steps = dataset.as_tf_dataset().flat_map(lambda episode: episode["steps"])
    first, second = iter(steps), iter(steps)
    expected = [int(next(first)["observation"][0, 0]) for _ in range(370)]
    for _ in range(200):
        next(second)
    saved = tf.train.Checkpoint(iterator=second).save(tmp_path / "checkpoint")
    for iterator in (second, iter(steps)):
        if iterator is not second:
            tf.train.Checkpoint(iterator=iterator).restore(saved)
        assert [int(step["observation"][0, 0]) for step in iterator] == expected[200:]


@pytest.mark.parametrize(("are_small", "expected"), [(False, 0), (True, 8)])
def test_nothing_is_read_with_large_episodes_that_are_converted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, are_small: bool, expected: int
) -> None:
    """The memory of converted values is not tracked; small episodes are read nevertheless."""
    monkeypatch.setattr(WholeEpisodes, "are_small", are_small)
    read, flat = list[int](), StepArrays.flat

    def spy(arrays: StepArrays, number: int, rows: range) -> list[np.ndarray]:
        read.append(len(rows))
        return flat(arrays, number, rows)

    monkeypatch.setattr(StepArrays, "flat", spy)
    dataset = _frames(tmp_path, lengths=(20,) * 8, side=64)
    kept = list(dataset.as_tf_dataset(dtypes={"observation": np.float32}))
    assert sum(rows > 0 for rows in read) == expected
    for episode in kept:
        assert [float(step["observation"][0, 0]) for step in episode["steps"]] == list(range(20))


def _frames(directory: Path, *, lengths: Sequence[int], side: int, block_rows: int = 64) -> rlds_kit.Dataset:
    """Episodes of square images."""
    declared = specs.Dict({"observation": specs.Array((side, side), np.uint8), "action": specs.Array((), np.int64)})
    policy = FlushPolicy(block_rows=block_rows, interval=None)
    with EpisodeWriter(directory, declared, record_time=False, policy=policy) as writer:
        for length in lengths:
            with writer.episode() as episode:
                episode.start(np.zeros((side, side), np.uint8))
                for step in range(1, length):
                    episode.step(step, 0.0, np.full((side, side), step % 256, np.uint8))
    return rlds_kit.open(directory)
