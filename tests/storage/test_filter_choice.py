"""Light columns are stored as they are where compression saves little, or where they are a small part of all.

Numbers that are compressed are tried as they are, as byte planes and as differences; planes are compressed separately.
"""

from typing import Any

import ale_py  # noqa: F401  registers the environments
import gymnasium
import numpy as np
import pytest

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder, filters
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.compression import FAST_LEVEL, THOROUGH_LEVEL, compressor
from rlds_kit.storage.filter_choice import Choice, FilterChoice
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
    header, payload = column_encoder.encode(made(path, values), choose)
    assert np.array_equal(columns.decode(layout_of(header, ""), payload, "").values, values)
    return bool(header.codec == pb.ZSTD)


def test_vectors_of_noise_are_stored_as_they_are() -> None:
    assert not is_compressed(FilterChoice(), "observation", noise(17))


@pytest.mark.parametrize(("zeros", "compressed"), [(2, False), (5, True)])
def test_vectors_are_compressed_where_that_saves_a_quarter(zeros: int, *, compressed: bool) -> None:
    """The last bits of each number are 0: compression saves 21 % and 31 %."""
    bits = noise(17).view(np.uint32) >> zeros << zeros
    assert is_compressed(FilterChoice(), "observation", bits.view(np.float32)) == compressed


def test_a_column_by_itself_is_compressed_where_that_saves_half() -> None:
    assert is_compressed(FilterChoice(), "reward", half_empty())


def test_a_small_part_of_the_bytes_is_stored_as_it_is() -> None:
    """A reward beside an observation of 24 numbers: 4.6 of 83 bytes."""
    choose = FilterChoice()
    assert not is_compressed(choose, "observation", noise(24))
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


def angles(rows: int = ROWS) -> np.ndarray:
    """Joints that move smoothly."""
    phases = np.random.default_rng(0).uniform(0, 6, 7)
    return np.sin(np.arange(rows)[:, None] / 20 + phases).astype(np.float32)


def decimals() -> np.ndarray:
    """Numbers of few different values, whose bits look random."""
    return np.random.default_rng(0).normal(0, 3, ROWS).round(2)


def walk() -> np.ndarray:
    """Numbers near those of the row before, but on both sides of it."""
    return np.cumsum(np.random.default_rng(0).integers(-1, 2, (ROWS, 8)), axis=0).astype(np.float32)


def halves() -> np.ndarray:
    """Vectors of float32 that became float64."""
    return noise(6).astype(np.float64)


def encoded(values: np.ndarray) -> tuple[pb.Column, bytes]:
    """The header and the payload of a column, after it was read."""
    header, payload = column_encoder.encode(made("x", values), FilterChoice())
    assert columns.decode(layout_of(header, ""), payload, "").values.tobytes() == values.tobytes()
    return header, payload


def in_one_block(values: np.ndarray, number: int, level: int) -> bytes:
    """What zstd makes of the planes together."""
    rows = values.reshape(len(values), -1).view(np.uint8)
    parts = filters.APPLY[number](rows, values.itemsize, values.shape[1:])
    return compressor(level).compress(b"".join(part.tobytes() for part in parts))


@pytest.mark.parametrize(
    ("values", "expected", "share"),
    [
        (angles(), pb.DELTA_SHUFFLE, 0.65),
        (decimals(), pb.IDENTITY, 0.4),
        (walk(), pb.XOR_SHUFFLE, 0.2),
        (halves(), pb.SHUFFLE, 0.45),
    ],
)
def test_numbers_get_the_filter_that_fits_them(values: np.ndarray, expected: int, share: float) -> None:
    header, payload = encoded(values)
    assert header.filter == expected
    assert len(payload) < share * values.nbytes


def test_differences_are_of_elements_that_are_integers_of_a_known_size() -> None:
    """complex128 has 16 bytes; the filter subtracts numbers of 8 at most."""
    assert encoded(angles().astype(np.complex128))[0].filter != pb.DELTA_SHUFFLE


@pytest.mark.parametrize("values", [angles(), halves()])
def test_planes_are_compressed_with_blocks_of_their_own(values: np.ndarray) -> None:
    """One code for noise and for bytes that seldom change fits neither."""
    header, payload = encoded(values)
    assert len(payload) < 0.95 * len(in_one_block(values, header.filter, FAST_LEVEL))


def test_short_planes_are_compressed_together() -> None:
    """Each block begins with a description of its code: of 64 times, more than the block saves."""
    times = (np.arange(64) / 50).round(3)
    header, payload = encoded(times)
    assert header.filter == pb.DELTA_SHUFFLE
    assert payload == in_one_block(times, header.filter, FAST_LEVEL)


def test_what_shrinks_to_an_eighth_is_compressed_together() -> None:
    values = np.cumsum(np.full(ROWS, 0.02))
    header, payload = encoded(values)
    assert header.codec == pb.ZSTD
    assert payload == in_one_block(values, header.filter, THOROUGH_LEVEL)


@pytest.mark.parametrize(("game", "level"), [("Breakout", FAST_LEVEL), ("MsPacman", THOROUGH_LEVEL)])
def test_a_longer_search_must_save_a_tenth(game: str, level: int) -> None:
    """It takes three times as long, and makes the changes of some games larger."""
    env = gymnasium.make(f"ALE/{game}-v5")
    env.action_space.seed(0)
    env.reset(seed=0)
    values = np.array([env.step(env.action_space.sample())[0] for _ in range(192)])[-64:]
    header, payload = encoded(values)
    assert header.filter == pb.XOR_RUNS  # though the last four frames of Breakout are the same
    (plain,) = filters.APPLY[pb.XOR_RUNS](values.reshape(len(values), -1), 1, values.shape[1:])
    assert payload == compressor(level).compress(plain.data)


@pytest.mark.parametrize(("width", "expected"), [(17, [32, 96, 224, 480, 992, 1504]), (1 << 9, [32, 64, 96, 128])])
def test_light_rows_are_tried_again_less_and_less_often(
    monkeypatch: pytest.MonkeyPatch, width: int, expected: list[int]
) -> None:
    """Each trial that confirms the choice doubles the blocks until the next one; not of heavy rows."""
    tried: list[int] = []
    number, original = 0, FilterChoice._try

    def counted(*arguments: Any) -> Choice:
        tried.append(number)
        return original(*arguments)

    monkeypatch.setattr(FilterChoice, "_try", counted)
    choose, values = FilterChoice(), noise(width)[:8]
    rows = values.reshape(len(values), -1).view(np.uint8)
    for number in range(expected[-1] + 1):  # noqa: B007  # `counted` reads it
        choose(ColumnKey("observation", pb.ARRAY, values.dtype, 1), rows, values.dtype, values.shape[1:])
    assert tried == [0, *expected]
