"""What callers may ask of batches, and how memory is divided."""

import itertools
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.order import BlockOrder, GlobalOrder, InOrder
from rlds_kit.loader.plan import LARGEST_PIECE, MEMORY, RUN_STEPS, Options, Weights, order, piece_limit

weights = st.builds(
    Weights,
    samples=st.integers(0, 10**9),
    row_bytes=st.integers(1, 10**7),
    rows_per_sample=st.integers(1, 100),
    rows_between=st.integers(1, 100),
)
memories = st.none() | st.integers(1, 1 << 33)
shuffles: Any = st.sampled_from((None, "global", "blocks"))


@given(size=st.integers(0, 10**12), count=st.integers(1, 999), batch=st.integers(1, 10**6), drop=st.booleans())
def test_parts_of_workers(size: int, count: int, batch: int, drop: bool) -> None:
    """They follow each other without overlap, and are equal but for one sample; all equal without the rest."""
    spans = [
        Options(batch, drop_remainder=drop, shard=(index, count)).span(size)
        for index in sorted({0, 1 % count, count // 2, count - 1})
    ]
    assert all(0 <= begin <= end <= size for begin, end in spans)
    assert all(one[1] <= other[0] for one, other in itertools.pairwise(spans))
    lengths = {end - begin for begin, end in spans}
    if drop:
        assert lengths == {size // count // batch * batch}
    else:
        assert lengths <= {size // count, size // count + 1}
        assert spans[0][0] == 0
        assert spans[-1][1] == size


@given(size=st.integers(0, 500), count=st.integers(1, 40))
def test_all_parts_are_everything(size: int, count: int) -> None:
    """Where one part ends the next begins."""
    spans = [Options(1, shard=(index, count)).span(size) for index in range(count)]
    assert [position for span in spans for position in range(*span)] == list(range(size))


@given(weights=weights, memory=memories, shuffle=shuffles)
def test_pieces_fit_in_memory(weights: Weights, memory: int | None, shuffle: Any) -> None:
    """Two pieces, one that is taken from and one that is decoded, fit, unless a single sample does not."""
    limit = piece_limit(Options(1, shuffle=shuffle, memory=memory), weights)
    assert limit >= 1
    rows = limit * weights.rows_per_sample
    if shuffle != "global":  # neighbours share steps
        rows = (limit - 1) * weights.rows_between + weights.rows_per_sample
    assert limit == 1 or 2 * rows * weights.row_bytes <= (memory or MEMORY)
    assert limit == 1 or rows <= LARGEST_PIECE


@given(weights=weights, memory=memories, seed=st.integers())
def test_groups_of_blocks_fit_in_memory(weights: Weights, memory: int | None, seed: int) -> None:
    """So do two groups of runs, unless a single run does not; runs are neither shorter nor longer than is good."""
    made = order(Options(1, shuffle="blocks", memory=memory, seed=seed), weights)
    assert isinstance(made, BlockOrder)
    assert (made.size, made.seed) == (weights.samples, seed)
    assert made.run == 1 or RUN_STEPS[0] // 2 < made.run * weights.rows_between <= RUN_STEPS[1]
    rows = made.mix * ((made.run - 1) * weights.rows_between + weights.rows_per_sample)
    assert made.mix == 1 or 2 * rows * weights.row_bytes <= (memory or MEMORY)


def test_orders_by_name() -> None:
    some = Weights(samples=10, row_bytes=1, rows_per_sample=1, rows_between=1)
    assert order(Options(1), some) == InOrder(10)
    assert order(Options(1, shuffle="global", seed=4), some) == GlobalOrder(10, 4)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 0}, "expected batch_size of at least 1, got 0"),
        ({"batch_size": -3}, "expected batch_size of at least 1, got -3"),
        ({"shuffle": "random"}, """expected shuffle to be "global", "blocks" or None, got 'random'"""),
        ({"shuffle": True}, "expected shuffle to be .* got True"),
        ({"shard": (2, 2)}, r"expected shard \(index, count\) with 0 <= index < count, got \(2, 2\)"),
        ({"shard": (-1, 2)}, "0 <= index < count"),
        ({"shard": (0, 0)}, "0 <= index < count"),
        ({"shard": (0,)}, "0 <= index < count"),
        ({"shard": (0, 1, 2)}, "0 <= index < count"),
        ({"shard": 3}, "0 <= index < count, got 3"),
        ({"threads": 0}, "expected threads of at least 1, got 0"),
        ({"memory": 0}, "expected memory of at least 1, got 0"),
        ({"memory": -1}, "expected memory of at least 1, got -1"),
    ],
)
def test_numbers_out_of_range_are_refused(arguments: dict[str, Any], message: str) -> None:
    """The error says what was expected, and what came."""
    with pytest.raises(ValueError, match=message):
        Options(**{"batch_size": 1, **arguments})


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"batch_size": 2.0}, "expected batch_size to be an integer, got 2.0"),
        ({"seed": None}, "expected seed to be an integer, got None"),
        ({"seed": 0.5}, "expected seed to be an integer, got 0.5"),
        ({"seed": "0"}, "expected seed to be an integer, got '0'"),
        ({"seed": True}, "expected seed to be an integer, got True"),
        ({"shard": (0.0, 2)}, r"expected shard\[0\] to be an integer, got 0.0"),
        ({"threads": 1.5}, "expected threads to be an integer"),
        ({"memory": 1e9}, "expected memory to be an integer"),
    ],
)
def test_numbers_of_other_types_are_refused(arguments: dict[str, Any], message: str) -> None:
    """The error names the argument."""
    with pytest.raises(TypeError, match=message):
        Options(**{"batch_size": 1, **arguments})


def test_any_integer_is_an_integer() -> None:
    """It is stored as a Python number, because a state must be JSON, and an order must not depend on the type."""
    made = Options(np.int32(4), seed=np.uint8(7), shard=(np.int64(1), np.int64(2)), threads=np.int8(3))  # type: ignore[arg-type]
    assert made == Options(4, seed=7, shard=(1, 2), threads=3)
    kinds = {type(each) for each in (made.batch_size, made.seed, *made.shard, made.threads)}
    assert kinds == {int}
