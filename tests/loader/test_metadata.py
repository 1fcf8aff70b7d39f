"""Metadata of all episodes as arrays."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import Dataset, SpecError
from rlds_kit.loader.metadata import metadata_columns
from rlds_kit.logger import EpisodeWriter


def _dataset(directory: Path, *values: Any) -> Dataset:
    """An episode for each value; `...` stands for none."""
    with EpisodeWriter(directory, record_time=False) as writer:
        for value in values:
            with writer.episode(metadata={} if value is ... else {"it": value}) as episode:
                episode.start(0)
    return rlds_kit.open(directory)


@pytest.mark.parametrize(
    ("values", "dtype"),
    [
        ((1, 2), np.int64),
        ((1, 2.5), np.float64),
        ((True, False), np.bool_),
        ((np.float32(1.5), np.float32(2)), np.float32),
        ((np.uint8(1), np.int16(-1)), np.int16),
        ((np.zeros((2, 3), np.float32), np.ones((2, 3), np.float32)), np.float32),
        (([1, 2], (3, 4)), np.int64),
        (("a", "b"), object),
        ((b"a", b"\0"), object),
        ((float("nan"), 1), np.float64),
    ],
)
def test_values_with_a_common_dtype_become_one_array(tmp_path: Path, values: Any, dtype: Any) -> None:
    """Whose rows are the values, none of them changed."""
    column = metadata_columns(_dataset(tmp_path, *values).episodes, ["it"])["it"]
    assert column.dtype == dtype
    for row, value in zip(column, values, strict=True):
        assert np.array_equal(row, value, equal_nan=dtype == np.float64)


@pytest.mark.parametrize(
    "values",
    [
        (1, "a"),
        (True, 2),
        (2**53 + 1, 0.5),
        (2**63 - 1, 0.5),
        (np.uint64(2**64 - 1), -1),
        ([1], [1, 2]),
        ({"a": 1}, {"a": 2}),
        (2**70, 1),
        (b"a", "a"),
        ([1, "a"], [2, 3]),
    ],
)
def test_values_that_do_not_agree_are_refused(tmp_path: Path, values: Any) -> None:
    """Rather than changed; the message says what there is, where, and what to do."""
    with pytest.raises(SpecError, match=r"metadata 'it': expected .* in episode 0.*where"):
        metadata_columns(_dataset(tmp_path, *values).episodes, ["it"])


def test_values_that_are_missing_are_refused(tmp_path: Path) -> None:
    """The message counts them, and names a way to choose the others, which works."""
    dataset = _dataset(tmp_path, 1, ..., 2, None)
    with pytest.raises(SpecError, match=r"2 of 4 episodes have none, the first of them is episode 1.*where") as caught:
        metadata_columns(dataset.episodes, ["it"])
    chosen = dataset.where(lambda metadata: metadata.get("it") is not None)
    assert "where(lambda metadata: metadata.get('it') is not None)" in str(caught.value)
    assert metadata_columns(chosen.episodes, ["it"])["it"].tolist() == [1, 2]


@pytest.mark.parametrize("name", ["steps", "valid", "episode_id", "end"])
def test_names_that_an_episode_uses_are_refused(tmp_path: Path, name: str) -> None:
    """One of the two would be lost."""
    with pytest.raises(ValueError, match=f"metadata .'{name}'. have names"):
        _dataset(tmp_path, 1).as_torch_dataset(metadata=[name])
