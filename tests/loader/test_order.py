"""The orders: each sample once an epoch, any part by itself, the same for ever."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.loader.order import BlockOrder, GlobalOrder, InOrder, Order

sizes = st.integers(0, 5000)
seeds = st.integers(-(2**40), 2**70)


@st.composite
def orders(draw: st.DrawFn) -> Order:
    """Any order of any size; of at most 60 groups, each of which takes its time."""
    kind = draw(st.sampled_from((InOrder, GlobalOrder, BlockOrder)))
    if kind is InOrder:
        return InOrder(draw(sizes))
    if kind is GlobalOrder:
        return GlobalOrder(draw(sizes), draw(seeds))
    run, mix = draw(st.integers(1, 700)), draw(st.integers(1, 50))
    return BlockOrder(draw(st.integers(0, min(5000, 60 * run * mix))), draw(seeds), run, mix)


def _size(order: Order) -> int:
    assert isinstance(order, InOrder | GlobalOrder | BlockOrder)
    return order.size


def _whole(order: Order, epoch: int = 0) -> np.ndarray:
    return order.items(epoch, 0, _size(order))


@given(order=orders(), epoch=st.integers(0, 1000))
@settings(max_examples=100)
def test_every_sample_comes_exactly_once(order: Order, epoch: int) -> None:
    """In every epoch, whatever the size."""
    assert np.array_equal(np.sort(_whole(order, epoch)), np.arange(_size(order)))


@given(order=orders(), epoch=st.integers(0, 5), data=st.data())
@settings(max_examples=100)
def test_any_part_is_that_of_the_whole(order: Order, epoch: int, data: st.DataObject) -> None:
    """What stands at some positions can be computed without what stands at the others."""
    begin = data.draw(st.integers(0, _size(order)))
    end = data.draw(st.integers(begin, _size(order)))
    part = order.items(epoch, begin, end)
    assert part.dtype == np.int64
    assert np.array_equal(part, _whole(order, epoch)[begin:end])


@given(order=orders(), epoch=st.integers(0, 5), limit=st.integers(1, 300), data=st.data())
@settings(max_examples=100)
def test_pieces_are_a_partition(order: Order, epoch: int, limit: int, data: st.DataObject) -> None:
    """They follow each other from begin to end, none is empty, and only a group of runs is larger than the limit."""
    begin = data.draw(st.integers(0, _size(order)))
    end = data.draw(st.integers(begin, _size(order)))
    pieces = list(order.pieces(epoch, begin, end, limit))
    assert [position for piece in pieces for position in piece] == (
        [begin, *itertools.chain.from_iterable((cut, cut) for _, cut in pieces[:-1]), end] if begin < end else []
    )
    assert all(first < last for first, last in pieces)
    largest = order.run * order.mix if isinstance(order, BlockOrder) else limit
    assert all(last - first <= largest for first, last in pieces)


@pytest.mark.parametrize("order", [InOrder(10_000), GlobalOrder(10_000, 0)])
def test_the_first_batch_waits_for_little(order: Order) -> None:
    """Pieces grow from a small part of their size, so that the first of a large one is soon there."""
    sizes = [last - first for first, last in order.pieces(0, 0, 10_000, 3200)]
    assert sizes == [50, 100, 200, 400, 800, 1600, 3200, 3200, 450]


@given(size=st.integers(1, 3000), seed=seeds, run=st.integers(20, 300), mix=st.integers(1, 20))
@settings(max_examples=50)
def test_a_group_is_a_few_runs_of_neighbours(size: int, seed: int, run: int, mix: int) -> None:
    """`mix` runs are read for a piece, each of them whole, and each run for one piece only."""
    order = BlockOrder(size, seed, run, mix)
    runs_seen: list[int] = []
    for first, last in order.pieces(3, 0, size, 1):
        items = np.sort(order.items(3, first, last))
        runs = np.unique(items // run)
        assert len(runs) <= mix
        assert items.tolist() == [
            item for one in runs.tolist() for item in range(one * run, min((one + 1) * run, size))
        ]
        runs_seen += runs.tolist()
    assert sorted(runs_seen) == list(range(math.ceil(size / run)))


def test_recorded_order_is_the_same_in_every_epoch() -> None:
    assert [_whole(InOrder(5), epoch).tolist() for epoch in range(2)] == [[0, 1, 2, 3, 4]] * 2


@pytest.mark.parametrize("make", [lambda seed: GlobalOrder(200, seed), lambda seed: BlockOrder(200, seed, 9, 4)])
def test_epochs_and_seeds_differ(make: type[GlobalOrder]) -> None:
    """Each gives another order, always the same one."""
    found = {tuple(_whole(make(seed), epoch).tolist()) for seed in range(10) for epoch in range(10)}  # type: ignore[call-arg]
    assert len(found) == 100
    again = {tuple(_whole(make(seed), epoch).tolist()) for seed in range(10) for epoch in range(10)}  # type: ignore[call-arg]
    assert again == found


@pytest.mark.parametrize(
    ("order", "epoch", "expected"),
    [
        (GlobalOrder(12, 0), 0, [0, 6, 2, 4, 9, 11, 1, 5, 3, 7, 8, 10]),
        (GlobalOrder(12, 0), 1, [0, 6, 8, 5, 9, 10, 1, 4, 3, 7, 11, 2]),
        (
            GlobalOrder(100_000, 7),
            0,
            [66615, 48392, 58395, 44431, 28904, 94385, 77925, 35890, 92486, 26199, 11676, 32610],
        ),
        (BlockOrder(12, 0, run=3, mix=2), 0, [5, 4, 7, 3, 6, 8, 9, 0, 2, 11, 1, 10]),
        (BlockOrder(13, 5, run=4, mix=3), 2, [5, 9, 3, 10, 4, 6, 1, 11, 2, 0, 8, 7]),
        (
            BlockOrder(100_000, 7, run=512, mix=40),
            0,
            [11486, 33579, 81988, 93691, 72619, 27279, 99447, 33375, 67064, 44917, 54277, 24704],
        ),
    ],
)
def test_orders_never_change(order: Order, epoch: int, expected: list[int]) -> None:
    """What a saved state stands for is the same in every version and on every machine."""
    assert _whole(order, epoch)[:12].tolist() == expected


@pytest.mark.parametrize("run", [1, 8, 64])
def test_blocks_are_mixed(run: int) -> None:
    """Neighbours of the data seldom follow each other, and runs come from everywhere in the data."""
    size, mix = 20_000, 16
    order = _whole(BlockOrder(size, 3, run, mix))
    assert (np.diff(order) == 1).mean() < 3 / mix
    halves = np.array([np.mean(part < size / 2) for part in np.array_split(order, 10)])
    runs = size / run / 10
    assert (np.abs(halves - 0.5) < 4 * 0.5 / math.sqrt(min(runs, mix * 2))).all()
    within = BlockOrder(run * mix, 3, run, mix)
    moved = np.abs(_whole(within) - np.arange(run * mix)).mean() / (run * mix)
    assert abs(moved - 1 / 3) < 0.15
