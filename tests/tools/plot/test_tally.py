"""`Tally`: exact counts in cells that grow."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.tools.plot.tally import CELLS, HUGE, TINY, Tally

NUMBERS = st.lists(st.one_of(st.floats(), st.floats(-2, 2), st.integers(-300, 300).map(float)), max_size=50)


def tally_of(*parts: list[float]) -> Tally:
    """A tally that is given numbers in parts, and counts after each."""
    tally = Tally()
    for part in parts:
        tally.add(np.array(part, np.float64))
        tally.cells()
    return tally


@given(NUMBERS)
def test_every_number_is_in_its_cell(numbers: list[float]) -> None:
    """A cell has the numbers from its edge to the next one, as NumPy counts them; the others are outliers."""
    tally = tally_of(numbers)
    edges, counts = tally.cells()
    placed = np.array([0.0 if abs(number) < TINY else number for number in numbers if abs(number) < HUGE])
    assert tally.outliers == len(numbers) - len(placed)
    for edge, times in zip(edges.tolist(), counts.tolist(), strict=True):
        assert times == np.count_nonzero((placed >= edge) & (placed < edge + math.ldexp(1, tally.exponent)))
    assert counts.sum() == len(placed)


@given(st.lists(NUMBERS, max_size=4), st.randoms())
def test_order_and_parts_do_not_matter(parts: list[list[float]], random: object) -> None:
    """What is counted depends on the numbers alone."""
    together = [number for part in parts for number in part]
    shuffled = sorted(together, key=lambda _: random.random())  # type: ignore[attr-defined]
    one, other, third = tally_of(*parts), tally_of(together), tally_of(shuffled)
    for tally in (other, third):
        assert (tally.low, tally.high, tally.is_whole) == (one.low, one.high, one.is_whole)
        assert all(map(np.array_equal, tally.cells(), one.cells()))


def test_few_whole_numbers_keep_cells_of_their_own() -> None:
    """Also when they come one by one, after thousands of equal ones."""
    tally = Tally()
    for _ in range(20_000):
        tally.add(np.array(0))
    tally.add(np.arange(CELLS, dtype=np.uint16))
    edges, counts = tally.cells()
    assert np.array_equal(edges, np.arange(CELLS))
    assert (counts[0], set(counts[1:].tolist())) == (20_001, {1})


def test_memory_does_not_grow_with_the_numbers() -> None:
    """There are as many cells after a million numbers as after one, and few numbers wait to be counted."""
    tally, rng = Tally(), np.random.default_rng(0)
    for scale in range(100):
        tally.add(rng.normal(scale=10.0**scale, size=10_000))
    assert len(tally._counts) == CELLS
    assert sum(part.size for part in tally._pending) < 10_000


def test_integers_and_booleans_are_numbers() -> None:
    """Of every dtype that has an order."""
    tally = Tally()
    tally.add(np.array([True, False]))
    tally.add(np.array([-3], np.int8))
    tally.add(np.array([[2]], ">u8"))
    assert tally.cells()[0].tolist() == [-3, 0, 1, 2]
    assert tally.is_whole


def test_tally_without_numbers_is_empty() -> None:
    """No cells, and a range of nothing."""
    tally = tally_of([], [math.nan])
    assert [part.tolist() for part in tally.cells()] == [[], []]
    assert (tally.low, tally.high) == (math.inf, -math.inf)
