"""The quantile sketch: its error, that it is a function of the numbers alone, and what is refused."""

import doctest
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import quantile_sketch
from rlds_kit.base.quantile_sketch import MAX_BUCKETS, QuantileSketch

LEVELS = np.array([0, 0.001, 0.01, 0.25, 0.5, 0.75, 0.99, 0.999, 1])

floats = st.lists(st.floats(allow_nan=False, width=64), max_size=60)


def _spread_out(seed: int, count: int, kind: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """More numbers than there are buckets."""
    rng = np.random.default_rng(seed)
    ways: dict[str, Callable[[], np.ndarray[Any, np.dtype[np.float64]]]] = {
        "normal": lambda: rng.normal(size=count),
        "far from zero": lambda: rng.normal(1000, 1, count),
        "wide": lambda: rng.choice([-1, 1], count) * 10.0 ** rng.uniform(-300, 300, count),
        "integers": lambda: rng.integers(-(2**40), 2**40, count).astype(np.float64),
        "mostly zero": lambda: np.where(rng.random(count) < 0.9, 0.0, rng.normal(size=count)),
        "tiny": lambda: rng.integers(0, 2**52, count).view(np.float64),
        "any bits": lambda: np.nan_to_num(rng.integers(-(2**63), 2**63 - 1, count).view(np.float64), nan=0.5),
    }
    return ways[kind]()


KINDS = ("normal", "far from zero", "wide", "integers", "mostly zero", "tiny", "any bits")


def _state(sketch: QuantileSketch) -> dict[str, Any]:
    return sketch.to_json()


def test_examples_of_docstrings() -> None:
    """Runs the examples of all docstrings."""
    assert doctest.testmod(quantile_sketch).failed == 0


@given(st.lists(st.floats(-1e300, 1e300), min_size=1, max_size=60), st.floats(0, 1))
def test_few_numbers_are_exact(numbers: list[float], level: float) -> None:
    """Up to the number of buckets, quantiles are those of NumPy."""
    sketch = QuantileSketch.of(numbers)
    assert sketch.relative_error == 0
    np.testing.assert_allclose(sketch.quantile(level), np.quantile(numbers, level), rtol=1e-12, atol=1e-300)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(3))
def test_the_error_is_within_its_bound(kind: str, seed: int) -> None:
    """Many numbers: each quantile is as near as `relative_error` says to the numbers NumPy interpolates between."""
    numbers = _spread_out(seed, 30_000, kind)
    sketch = QuantileSketch.of(numbers)
    assert len(sketch.keys) <= MAX_BUCKETS
    low, high = (np.quantile(numbers, LEVELS, method=method) for method in ("lower", "higher"))
    slack = sketch.relative_error * np.maximum(abs(low), abs(high)) * (1 + 1e-9) + 2.0**-1022
    estimate = sketch.quantile(LEVELS)
    with np.errstate(over="ignore"):  # beyond the largest number there is room for nothing
        assert (estimate >= low - slack).all()
        assert (estimate <= high + slack).all()


def test_the_error_for_a_normal_distribution_is_as_documented() -> None:
    """0.4 % around zero, and less than a hundredth of the spread far from it."""
    assert QuantileSketch.of(_spread_out(0, 300_000, "normal")).relative_error < 0.004
    assert 1000 * QuantileSketch.of(_spread_out(0, 300_000, "far from zero")).relative_error < 0.01


@pytest.mark.parametrize("kind", KINDS)
def test_minimum_and_maximum_are_exact(kind: str) -> None:
    """Levels 0 and 1 have no error however many numbers there are."""
    numbers = _spread_out(0, 30_000, kind)
    assert QuantileSketch.of(numbers).quantile([0, 1]).tolist() == [numbers.min(), numbers.max()]


@given(floats, floats)
def test_merging_is_sketching_the_union(a: list[float], b: list[float]) -> None:
    """The sketch of the union, exactly."""
    assert _state(QuantileSketch.of(a).merge(QuantileSketch.of(b))) == _state(QuantileSketch.of(a + b))


@given(st.integers(0, 2**32 - 1), st.sampled_from(KINDS), st.lists(st.integers(0, 20_000), max_size=4))
def test_many_numbers_merge_exactly_in_any_order(seed: int, kind: str, cuts: list[int]) -> None:
    """Parts of any size, merged in any order, give the sketch of the whole, also where buckets had to grow."""
    numbers = _spread_out(seed, 20_000, kind)
    parts = [QuantileSketch.of(part) for part in np.split(numbers, sorted(cuts))]
    merged = QuantileSketch.of([])
    for part in np.random.default_rng(seed).permutation(np.arange(len(parts))):
        merged = merged.merge(parts[part])
    assert _state(merged) == _state(QuantileSketch.of(np.random.default_rng(seed).permutation(numbers)))


@given(floats)
def test_json_keeps_every_bit(numbers: list[float]) -> None:
    """Through strict JSON and back."""
    sketch = QuantileSketch.of(numbers)
    text = json.dumps(sketch.to_json(), allow_nan=False)
    assert _state(QuantileSketch.from_json(json.loads(text))) == _state(sketch)


def test_no_numbers_have_no_quantiles() -> None:
    """NaN, of the shape of the levels."""
    empty = QuantileSketch.of([])
    assert (empty.count, empty.relative_error) == (0, 0.0)
    assert np.isnan(empty.quantile([[0.1, 0.2]])).tolist() == [[True, True]]


def test_negative_zero_is_zero() -> None:
    """Both have the same bucket."""
    assert QuantileSketch.of([0.0, -0.0]).keys.tolist() == [0]


def test_infinities_are_numbers_too() -> None:
    """They are the ends of the order."""
    sketch = QuantileSketch.of([np.inf, -np.inf, 1.0])
    assert sketch.quantile([0, 0.5, 1]).tolist() == [-np.inf, 1.0, np.inf]


def test_nan_is_refused() -> None:
    """It has no place in an order."""
    with pytest.raises(ValueError, match="got NaN"):
        QuantileSketch.of([1.0, np.nan])


@pytest.mark.parametrize("level", [-0.1, 1.1, np.nan])
def test_levels_out_of_range_are_refused(level: float) -> None:
    """Only 0 to 1 means anything."""
    with pytest.raises(ValueError, match="between 0 and 1"):
        QuantileSketch.of([1.0]).quantile(level)
