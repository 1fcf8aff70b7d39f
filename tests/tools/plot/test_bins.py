"""Bins that all datasets share."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.tools.plot.bins import Bins, bins_of_tallies, bins_of_values
from rlds_kit.tools.plot.tally import TINY, Tally
from tests.repetitions import repetitions

FINITE = st.one_of(
    st.floats(-1e99, 1e99).filter(lambda number: abs(number) >= TINY),
    st.floats(-2, 2).filter(lambda number: abs(number) >= TINY),
    st.integers(-300, 300).map(float),
)
SAMPLES = st.lists(st.lists(FINITE, max_size=30), min_size=1, max_size=3)


def tally(numbers: list[float]) -> Tally:
    """A tally of numbers."""
    made = Tally()
    made.add(np.array(numbers))
    return made


def middles(bins: Bins) -> list[float]:
    """The middles of bins."""
    return ((bins.edges[:-1] + bins.edges[1:]) / 2).tolist()


@pytest.mark.sweep
@given(SAMPLES, st.integers(2, 256))
@settings(max_examples=repetitions(100, least=40))
def test_values_have_a_bin_or_are_few(samples: list[list[float]], most: int) -> None:
    """Edges ascend; there are at most the given number of bins; at most two percent of a dataset are beyond an edge."""
    edges, _ = bins_of_values([np.array(sample) for sample in samples], most)
    assert np.all(np.diff(edges) > 0)
    assert len(edges) <= most + 1
    for sample in samples:
        assert np.sum(np.array(sample) < (edges[0] if sample else 0)) <= 0.02 * len(sample)
        assert np.sum(np.array(sample) > (edges[-1] if sample else 0)) <= 0.02 * len(sample)


@pytest.mark.sweep
@given(SAMPLES, st.integers(2, 256))
@settings(max_examples=repetitions(100, least=40))
def test_bins_of_tallies_count_as_numpy_does(samples: list[list[float]], most: int) -> None:
    """All cells of a tally lie in one bin each, so that counts by cells are those of the numbers."""
    tallies = [tally(sample) for sample in samples]
    edges, _ = bins_of_tallies(tallies, most)
    assert np.all(np.diff(edges) > 0)
    assert len(edges) <= most + 1
    for sample, counted in zip(samples, tallies, strict=True):
        cells, counts = counted.cells()
        if sample:
            expected, _ = np.histogram(sample, edges)
            assert np.array_equal(np.histogram(cells, edges, weights=counts)[0], expected)
            assert expected.sum() == len(sample)


def test_fractions_have_numpys_bins() -> None:
    """From the least to the greatest number."""
    values = np.random.default_rng(0).normal(size=100)
    edges, is_discrete = bins_of_values([values[:50], values[50:]], 20)
    assert np.array_equal(edges, np.histogram_bin_edges(values, 20))
    assert not is_discrete


@pytest.mark.parametrize(
    "choose", [bins_of_values, lambda samples, most: bins_of_tallies([*map(tally, samples)], most)]
)
def test_few_whole_numbers_have_a_bin_each(choose: object) -> None:
    """Also those between them that do not occur."""
    bins = choose([np.array([3.0, 1.0]), np.array([6.0])], 6)  # type: ignore[operator]
    assert bins.is_discrete
    assert middles(bins) == [1, 2, 3, 4, 5, 6]


def test_many_whole_numbers_share_bins_evenly() -> None:
    """Every bin has equally many possible values, so that a uniform distribution has equal bars."""
    values = np.arange(1000.0)
    edges, is_discrete = bins_of_values([values], 30)
    assert not is_discrete
    assert set(np.histogram(values, edges)[0][:-1].tolist()) == {34}


def test_scores_in_fives_are_not_split_unevenly() -> None:
    """Bins are as wide as whole numbers of steps between scores."""
    scores = np.arange(0.0, 1000, 5)
    counts = np.histogram(scores, bins_of_values([scores], 30).edges)[0]
    assert set(counts[:-1].tolist()) == {7}


def test_long_tail_is_left_out() -> None:
    """Two of a thousand episodes do not press the others into one bin."""
    values = np.append(np.random.default_rng(0).normal(size=998), [1e6, -3e9])
    edges = bins_of_values([values], 30).edges
    assert -6 < edges[0] < edges[-1] < 6


def test_tail_of_one_dataset_is_the_middle_of_another() -> None:
    """Nothing is left out that is ordinary in any of them."""
    rng = np.random.default_rng(0)
    low, high = rng.normal(size=500), rng.normal(1e6, 1, size=5)
    edges = bins_of_values([low, high], 30).edges
    assert edges[-1] == high.max()


@pytest.mark.parametrize("value", [0.0, 7.0, -0.3, 1e99, 2.0**60, 1e-300])
def test_constant_values_are_in_the_middle_of_one_bin(value: float) -> None:
    for bins in (bins_of_values([np.array([value, value])], 30), bins_of_tallies([tally([value, value])], 30)):
        assert bins.is_discrete
        assert len(bins.edges) == 2
        assert bins.edges[0] < value < bins.edges[1]
        assert middles(bins)[0] == pytest.approx(value)


def test_saturated_actions_are_in_the_outermost_bins() -> None:
    """An action of exactly 1.0 has no bin of its own above all others."""
    edges = bins_of_tallies([tally([-1.0, 0.25, 1.0])], 40).edges
    assert (edges[0], edges[-1], len(edges)) == (-1, 1, 33)


def test_nothing_has_no_bins() -> None:
    """Without values there are no edges."""
    assert not bins_of_values([np.array([])], 30).edges.size
    assert not bins_of_tallies([Tally()], 30).edges.size
