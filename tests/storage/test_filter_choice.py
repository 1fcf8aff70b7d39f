"""Light columns are stored as they are where compression saves little, or where they are a small part of all."""

import numpy as np
import pytest

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey

ROWS = 1000


def made(path: str, values: np.ndarray) -> Column:
    """A column of arrays."""
    return Column(ColumnKey(path, pb.ARRAY, values.dtype, values.ndim - 1), np.arange(len(values)), values)


def noise(size: int) -> np.ndarray:
    """Vectors that compression cannot make a fifth smaller."""
    return np.random.default_rng(0).normal(size=(ROWS, size)).astype(np.float32)


def half_empty() -> np.ndarray:
    """Numbers that compression makes half as large: float32 as float64."""
    return noise(1)[:, 0].astype(np.float64)


def is_compressed(choose: FilterChoice, path: str, values: np.ndarray) -> bool:
    """Whether a column is compressed, after it was written and read."""
    header, payload = columns.encode(made(path, values), choose)
    assert np.array_equal(columns.decode(layout_of(header, ""), payload, "").values, values)
    return bool(header.codec == pb.ZSTD)


def test_vectors_of_noise_are_stored_as_they_are() -> None:
    assert not is_compressed(FilterChoice(), "observation", noise(17))


def test_a_column_by_itself_is_compressed_where_that_saves_half() -> None:
    assert is_compressed(FilterChoice(), "reward", half_empty())


def test_a_small_part_of_the_bytes_is_stored_as_it_is() -> None:
    """A reward beside an observation of 25 numbers: 4 of 104 bytes."""
    choose = FilterChoice()
    assert not is_compressed(choose, "observation", noise(25))
    assert not is_compressed(choose, "reward", half_empty())


def test_many_small_parts_share_a_budget() -> None:
    """Each of ten numbers is a small part of the bytes; all of them are not."""
    choose = FilterChoice()
    is_compressed(choose, "observation", noise(50))
    found = [is_compressed(choose, f"number_{number}", half_empty()) for number in range(10)]
    assert found == [False] * 2 + [True] * 8


def test_what_compresses_well_is_compressed_however_small_a_part_it_is() -> None:
    choose, rare = FilterChoice(), np.zeros(ROWS)
    rare[::97] = 1
    is_compressed(choose, "observation", noise(50))
    assert is_compressed(choose, "reward", rare)


@pytest.mark.parametrize(("size", "compressed"), [(128, False), (129, True)])
def test_heavy_rows_are_always_compressed(size: int, *, compressed: bool) -> None:
    """Rows of more than a kilobyte, where compression saves a sixth, between columns that make them a small part."""
    values = np.random.default_rng(0).integers(0, 1 << 54, (ROWS, size), np.int64)
    assert is_compressed(FilterChoice(), "observation", values) == compressed
