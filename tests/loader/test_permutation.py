"""The permutation: exact, the same for ever, and evenly spread."""

import itertools
import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.loader.permutation import permuted

MANY_DEVIATIONS = 5.0
"""Standard deviations: seeds are fixed, so a test that passes always does; another network would have to as well."""


def _whole(size: int, *key: int) -> np.ndarray:
    return permuted(np.arange(size), size, *key)


@given(size=st.integers(0, 5000), key=st.tuples(st.integers(-(2**70), 2**70), st.integers(0, 99)))
@settings(max_examples=150)
def test_every_number_comes_exactly_once(size: int, key: tuple[int, int]) -> None:
    """It is a permutation, whatever the size and the key."""
    assert np.array_equal(np.sort(_whole(size, *key)), np.arange(size))


def test_small_sizes_all() -> None:
    """Sizes around the powers of two, where the network has just enough bits."""
    for size in [*range(70), *(2**bits + extra for bits in range(6, 13) for extra in (-1, 0, 1))]:
        assert np.array_equal(np.sort(_whole(size, 3)), np.arange(size))


@given(size=st.integers(1, 2**62), key=st.integers(), data=st.data())
def test_any_part_can_be_computed_alone(size: int, key: int, data: st.DataObject) -> None:
    """Where a position goes depends on nothing but size and key; no two go to the same place."""
    positions = np.array(data.draw(st.lists(st.integers(0, size - 1), unique=True, max_size=20)), np.int64)
    together = permuted(positions, size, key)
    assert [int(permuted(np.array([one]), size, key)[0]) for one in positions] == together.tolist()
    assert len(set(together.tolist())) == len(positions)
    assert ((together >= 0) & (together < size)).all()
    assert permuted(positions[:, None], size, key).shape == (len(positions), 1)


def test_positions_are_left_alone() -> None:
    """What was passed is not changed, also where numbers are walked until they fit."""
    positions = np.arange(33)
    permuted(positions, 33, 1)
    assert positions.tolist() == list(range(33))


@pytest.mark.parametrize(
    ("size", "key", "expected"),
    [
        (1, (0,), [0]),
        (5, (0,), [3, 0, 1, 4, 2]),
        (10, (0, 0), [8, 9, 3, 0, 4, 1, 7, 2, 5, 6]),
        (10, (0, 1), [7, 3, 1, 9, 0, 2, 8, 4, 6, 5]),
        (1000, (7, 3), [728, 721, 969, 205, 554, 176, 499, 278, 849, 806]),
        (
            10**12,
            (42,),
            [
                314699758670,
                629669139935,
                929764429122,
                807434099318,
                867756844578,
                880446163164,
                415801877408,
                900364667704,
                497600339539,
                600349920109,
            ],
        ),
    ],
)
def test_orders_never_change(size: int, key: tuple[int, ...], expected: list[int]) -> None:
    """What a saved state stands for is the same in every version and on every machine."""
    assert permuted(np.arange(min(size, 10)), size, *key).tolist() == expected


def test_other_keys_give_other_orders() -> None:
    """Seeds, epochs, and their exchange."""
    orders = {tuple(_whole(100, *key).tolist()) for key in itertools.product(range(-5, 20), range(8))}
    assert len(orders) == 25 * 8


def test_orders_of_neighbouring_keys_have_nothing_in_common() -> None:
    """As many numbers stand at the same place in two orders as in two of dice: about one."""
    size, epochs = 997, 200
    orders = [_whole(size, 0, epoch) for epoch in range(epochs)]
    same = [int((a == b).sum()) for a, b in itertools.pairwise(orders)]
    assert abs(sum(same) - (epochs - 1)) < MANY_DEVIATIONS * math.sqrt(epochs)
    following = [int(((b - a) % size == 1).sum()) for a, b in itertools.pairwise(orders)]
    assert abs(sum(following) - (epochs - 1)) < MANY_DEVIATIONS * math.sqrt(epochs)


def _deviations(counts: np.ndarray, expected: float, freedom: int) -> float:
    """By how many standard deviations chi-square is above what chance gives."""
    chi_square = float(((counts - expected) ** 2 / expected).sum())
    return (chi_square - freedom) / math.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_all_orders_of_few_are_equally_likely(size: int) -> None:
    """Over 1,000 epochs for each of the `size!` orders."""
    epochs = 1000 * math.factorial(size)
    found = Counter(tuple(_whole(size, 0, epoch).tolist()) for epoch in range(epochs))
    counts = np.array([found[order] for order in itertools.permutations(range(size))])
    assert _deviations(counts, 1000, math.factorial(size) - 1) < MANY_DEVIATIONS


@pytest.mark.parametrize("size", [6, 8, 17, 64])
def test_every_number_is_everywhere_equally_often(size: int) -> None:
    """Over many epochs: at each position, and right after each other number."""
    epochs = 2500
    places, pairs = np.zeros((size, size)), np.zeros((size, size))
    for epoch in range(epochs):
        order = _whole(size, 11, epoch)
        places[np.arange(size), order] += 1
        pairs[order[:-1], order[1:]] += 1
    assert _deviations(places, epochs / size, (size - 1) ** 2) < MANY_DEVIATIONS
    others = pairs[~np.eye(size, dtype=np.bool_)]
    assert _deviations(others, epochs / size, len(others) - 1) < MANY_DEVIATIONS


@pytest.mark.parametrize("size", [1000, 4096, 100_003, 1 << 20])
def test_large_orders_look_like_dice(size: int) -> None:
    """Where a tenth of the positions goes, how far neighbours are apart, and how far each number moves."""
    order = _whole(size, 5, 2)
    bins = 10
    tenth = order[: size // bins] * bins // size
    assert _deviations(np.bincount(tenth, minlength=bins), len(tenth) / bins, bins - 1) < MANY_DEVIATIONS
    apart = np.diff(order) % size * bins // size
    assert _deviations(np.bincount(apart, minlength=bins), len(apart) / bins, bins - 1) < MANY_DEVIATIONS
    moved = (order - np.arange(size)) % size * bins // size
    assert _deviations(np.bincount(moved, minlength=bins), size / bins, bins - 1) < MANY_DEVIATIONS
    low_bits = order[:-1] % 4 * 4 + order[1:] % 4
    assert _deviations(np.bincount(low_bits, minlength=16), len(low_bits) / 16, 15) < MANY_DEVIATIONS
