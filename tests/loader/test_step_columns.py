"""All steps as flat arrays: the content of episodes, whatever was recorded, and clear errors for what has no array."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import Dataset, SpecError
from rlds_kit.loader import whole_columns
from rlds_kit.loader.nests import flattened, map_arrays
from rlds_kit.riegeli import blocks
from rlds_kit.storage import located
from rlds_kit.storage.episode_reader import fields
from tests.loader.recording import Plan, plain, plans, recorded
from tests.storage.truth import same


@contextmanager
def reading(*, in_c: bool) -> Iterator[None]:
    """With the C extension or without it; a thread reads few blocks at a time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(whole_columns, "_TASK_BLOCKS", 3)
        patch.setattr(whole_columns, "_THREAD_BYTES", 1)
        if not in_c:
            patch.setattr(located, "native", None)
        yield


def dense_fields(dataset: Dataset) -> list[str]:
    """The fields of a dataset that have an array for all steps."""
    found = []
    for name in dataset.windows(1).gather([])["valid"]:
        arrays = flattened(dataset.select(name).windows(1).gather([])[name]).values()
        if all(array.dtype != object for array in arrays):
            found.append(name)
    return found


@given(plan=plans(), in_c=st.booleans())
@settings(max_examples=60)
def test_steps_are_those_of_windows_of_one(plan: Plan, in_c: bool) -> None:
    """The same values, flags and masks, from C and from Python, in new memory and in used memory."""
    with recorded(plan) as dataset, reading(in_c=in_c):
        names = dense_fields(dataset)
        if not names:
            return
        expected = (
            dataset.select(*names, "is_first", "is_last", "is_terminal").windows(1).gather(range(len(dataset.steps)))
        )
        found = dataset.arrays(*names, threads=2)
        for name in (*names, "is_first", "is_last", "is_terminal"):
            assert same(found[name], map_arrays(lambda array: array[:, 0], expected[name])), name
        for name in names:
            assert same(found.valid[name], map_arrays(lambda array: array[:, 0], expected["valid"][name])), name
        assert np.diff(found.offsets).tolist() == dataset.lengths()
        used = {name: map_arrays(_used, found[name]) for name in names}
        again = dataset.arrays(*names, out=used)
        assert all(same(again[name], found[name]) for name in names)
        kept, given_arrays = (flattened({name: each[name] for name in names}) for each in (again, used))
        assert all(np.shares_memory(kept[path], given_arrays[path]) or not kept[path].size for path in kept)


def _used(array: np.ndarray) -> np.ndarray:
    """An array of the same shape with something else in it."""
    return np.frombuffer(b"\x07" * array.nbytes, np.uint8).copy().view(array.dtype).reshape(array.shape)


def test_what_follows_a_step_is_the_next_step_of_its_episode() -> None:
    """Not after the last step of an episode."""
    with recorded(plain(4, 3)) as dataset:
        found = dataset.arrays("reward")
        assert found.offsets.tolist() == [0, 4, 7]
        assert found.followed.tolist() == [True, True, True, False, True, True, False]
        assert found.steps == 7
        assert found.valid["reward"].tolist() == found.followed.tolist()


def test_fields_without_an_array_are_named() -> None:
    """Text has none."""
    with recorded(plain(3, observation="text")) as dataset, pytest.raises(SpecError, match=r"observation .* `select`"):
        dataset.arrays()


def test_absent_fields_are_named() -> None:
    """With those that there are."""
    with recorded(plain(3)) as dataset, pytest.raises(KeyError, match=r"there is no field 'speed'.*reward"):
        dataset.arrays("speed")


@pytest.mark.parametrize(
    ("out", "error"),
    [
        ({"reward": np.zeros(2)}, ValueError),
        ({"reward": np.zeros(7, np.float16)}, ValueError),
        ({"reward": np.zeros(14)[::2]}, ValueError),
        ({"reward": [0.0] * 7}, TypeError),
        ({}, TypeError),
    ],
)
def test_memory_that_does_not_fit_is_refused(out: dict[str, Any], error: type[Exception]) -> None:
    """Too short, of another dtype, not in C order, no array at all."""
    with recorded(plain(4, 3)) as dataset, pytest.raises(error, match="out: expected"):
        dataset.arrays("reward", out=out)


def test_memory_of_two_fields_is_refused() -> None:
    """One would overwrite the other; memory side by side is not in common."""
    with recorded(plain(4, 3)) as dataset:
        memory = np.zeros((2, len(dataset.steps)), np.float64)
        found = dataset.arrays("reward", "action", out={"reward": memory[0], "action": memory[1].view(np.int64)})
        expected = dataset.arrays("reward", "action")
        assert all(same(found[name], expected[name]) for name in expected)
        for action in (memory[0], memory.reshape(-1)[3 : 3 + len(dataset.steps)]):
            with pytest.raises(ValueError, match=r"separate memory .* (reward and action|action and reward) overlap"):
                dataset.arrays("reward", "action", out={"reward": memory[0], "action": action.view(np.int64)})


def test_dtypes_are_converted() -> None:
    """As for samples."""
    with recorded(plain(4, 3)) as dataset:
        found = dataset.arrays("reward", dtypes={"reward": np.float16})["reward"]
        assert found.dtype == np.float16
        assert np.array_equal(found, dataset.arrays("reward")["reward"].astype(np.float16))


def first_byte_of_observations(dataset: Dataset) -> int:
    """Its position in the shard of the first episode."""
    reader, entry = dataset.source().reader(0), dataset.source().entries[0]
    block = reader._layout(0)
    (column,) = block.columns(fields(["observation"]))
    return blocks.physical(int(entry.blocks[0]), block.payload_base + column.offset)


@pytest.mark.parametrize("in_c", [True, False])
def test_damage_is_an_error(tmp_path: Path, in_c: bool) -> None:
    """The error of the reader of episodes."""
    with recorded(plain(50, 40, observation="vector")) as dataset:
        shard = dataset.shards()[0]
        data = bytearray(shard.read_bytes())
        data[first_byte_of_observations(dataset)] ^= 1
        (tmp_path / shard.name).write_bytes(data)
        damaged = rlds_kit.open(tmp_path)
        with reading(in_c=in_c), pytest.raises(rlds_kit.DamagedError, match="rlds-kit"):
            damaged.arrays("observation")


def test_most_recordings_are_read_in_c() -> None:
    """Else the other tests would compare the reader of episodes with itself."""
    if located.native is None:
        pytest.skip("the C extension is left out")
    with recorded(plain(50, 40, observation="vector")) as dataset:
        with mock.patch.object(whole_columns, "_read_episode", side_effect=AssertionError):
            found = dataset.arrays("observation", "action", "reward")
        assert same(found["observation"][:50], dataset.episodes[0]["observation"])
