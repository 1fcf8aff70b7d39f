"""Ranks, percentiles and histograms."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.crowd.scores import histogram, standing

totals = st.lists(st.integers(0, 20).map(float), max_size=30)


def test_c49_equal_totals_share_a_rank() -> None:
    """Two at the top are both first, and the next is third."""
    everyone = [9.0, 9.0, 7.0, 1.0]
    found = [standing([each], [*everyone[:n], *everyone[n + 1 :]]) for n, each in enumerate(everyone)]
    assert [each.rank for each in found] == [1, 1, 3, 4]
    assert [each.of for each in found] == [4] * 4
    assert [round(each.percentile, 3) for each in found] == [83.333, 83.333, 33.333, 0.0]


def test_c49_alone_is_first_of_one() -> None:
    found = standing([2.0, 5.0], [])
    assert (found.total, found.best, found.rank, found.percentile) == (7.0, 5.0, 1, 100.0)
    assert (sum(found.histogram), found.histogram[found.bin]) == (1, 1)


@given(totals, st.integers(0, 20).map(float))
def test_c49_ranks_and_percentiles_are_those_of_the_definition(others: list[float], total: float) -> None:
    found = standing([total], others)
    assert found.rank == 1 + sum(each > total for each in others)
    assert 0 <= found.percentile <= 100
    assert sum(found.histogram) == len(others) + 1
    assert found.histogram[found.bin] > 0


@given(st.lists(st.integers(-50, 50).map(float), min_size=2, max_size=40))
def test_c49_the_histogram_is_that_of_numpy(values: list[float]) -> None:
    """Where there is more than one value, and none is at a border of parts that floats could move."""
    if max(values) > min(values):
        spread = [(each - min(values)) * 10 / (max(values) - min(values)) for each in values]
        if all(abs(each - round(each)) > 1e-9 or each in {0, 10} for each in spread):
            assert histogram(values) == tuple(np.histogram(values, 10)[0].tolist())


def test_c49_what_cannot_be_ranked_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least one episode"):
        standing([], [1.0])
    with pytest.raises(ValueError, match="finite values"):
        standing([1.0], [float("nan")])
