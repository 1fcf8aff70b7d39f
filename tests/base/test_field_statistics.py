"""Statistics of a field against NumPy, and the laws of merging."""

import doctest
import json
from typing import Any, Literal

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from rlds_kit.base import field_statistics
from rlds_kit.base.field_statistics import FieldStatistics

_WIDTHS: dict[int, Literal[16, 32, 64]] = {2: 16, 4: 32, 8: 64}
DTYPES = (np.bool_, np.int8, np.uint8, np.int32, np.uint16, np.float16, np.float32, np.float64)


@st.composite
def values(draw: st.DrawFn, shape: tuple[int, ...] = (2, 2), *, nan: bool = True) -> np.ndarray[Any, Any]:
    """Rows of a field."""
    dtype = np.dtype(draw(st.sampled_from(DTYPES)))
    if dtype.kind == "f":
        top = min(1e6, float(np.finfo(dtype).max))
        elements = st.floats(-top, top, width=_WIDTHS[dtype.itemsize], allow_subnormal=False)
        elements = elements | st.just(np.nan) if nan else elements
    else:
        elements = hnp.from_dtype(dtype)
    return draw(hnp.arrays(dtype, (draw(st.integers(0, 30)), *shape), elements=elements))


def _is_close(actual: np.ndarray[Any, Any], expected: np.ndarray[Any, Any], scale: float) -> None:
    np.testing.assert_allclose(actual, expected, rtol=1e-11, atol=1e-12 * scale)


def _scale(rows: np.ndarray[Any, Any]) -> float:
    magnitude = np.abs(np.nan_to_num(rows.astype(np.float64)))
    return max(1.0, float(magnitude.max(initial=0)))


def test_examples_of_docstrings() -> None:
    """Runs the examples of all docstrings."""
    assert doctest.testmod(field_statistics).failed == 0


@given(values(), st.booleans())
def test_each_element_against_numpy(rows: np.ndarray[Any, Any], quantiles: bool) -> None:
    """Count, mean, standard deviation and bounds of each element without NaN; NaN where there are no values."""
    statistics = FieldStatistics.of(rows, quantiles=quantiles)
    for at in np.ndindex(2, 2):
        column = rows[:, *at].astype(np.float64)
        present = column[~np.isnan(column)]
        assert [statistics.count[at], statistics.nan_count[at]] == [len(present), len(column) - len(present)]
        if len(present):
            _is_close(statistics.mean[at], present.mean(), _scale(rows))
            _is_close(statistics.std[at], present.std(), _scale(rows))
            assert (statistics.min[at], statistics.max[at]) == (present.min(), present.max())
        else:
            assert np.isnan([statistics.mean[at], statistics.std[at], statistics.min[at], statistics.max[at]]).all()


@given(values(), st.sampled_from([0.0, 0.3, 1.0]))
def test_quantiles_of_each_element_against_numpy(rows: np.ndarray[Any, Any], level: float) -> None:
    statistics = FieldStatistics.of(rows)
    if len(rows) and not np.isnan(rows.astype(np.float64)).any():
        expected = np.quantile(rows.astype(np.float64), level, axis=0)
        np.testing.assert_allclose(statistics.quantile(level), expected, rtol=1e-12, atol=1e-300)
    assert statistics.relative_error.tolist() == [[0, 0], [0, 0]]


@given(st.data())
def test_merging_gives_the_statistics_of_the_union(data: st.DataObject) -> None:
    """Merging is associative, and equal to the statistics of all rows, up to rounding."""
    parts = [data.draw(values((3,))).astype(np.float64) for _ in range(3)]
    a, b, c = map(FieldStatistics.of, parts)
    whole = np.concatenate(parts)
    union = FieldStatistics.of(whole)
    for merged in (a.merge(b).merge(c), a.merge(b.merge(c)), c.merge(a).merge(b)):
        for exact in ("count", "nan_count", "min", "max"):
            np.testing.assert_array_equal(getattr(merged, exact), getattr(union, exact))
        _is_close(merged.mean, union.mean, _scale(whole))
        _is_close(merged.std, union.std, _scale(whole))
        assert merged.to_json()["sketches"] == union.to_json()["sketches"]


@given(values(), st.booleans())
def test_json_keeps_every_bit(rows: np.ndarray[Any, Any], quantiles: bool) -> None:
    """Through strict JSON and back."""
    statistics = FieldStatistics.of(rows, quantiles=quantiles)
    text = json.dumps(statistics.to_json(), allow_nan=False)
    restored = FieldStatistics.from_json(json.loads(text))
    assert restored.to_json() == statistics.to_json()
    assert restored.shape == statistics.shape


@pytest.mark.parametrize("dtype", [np.bool_, np.int8, np.uint8])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 65, 1000])
def test_bytes_without_quantiles_are_exact(dtype: type, count: int) -> None:
    """The fast way for images gives what exact arithmetic gives, at every end of a block."""
    rows: np.ndarray[Any, Any] = np.random.default_rng(0).integers(0, 256, (count, 5), np.uint8).astype(dtype)
    statistics = FieldStatistics.of(rows, quantiles=False)
    assert statistics.count.tolist() == [count] * 5
    for column, values_of in enumerate(rows.T.astype(object) if count else []):
        numbers = [int(value) for value in values_of]
        total = sum(numbers)
        assert statistics.mean[column] == total / count
        expected = (count * sum(number**2 for number in numbers) - total**2) / count
        assert statistics.squares[column] == pytest.approx(expected, rel=1e-15)
        assert (statistics.min[column], statistics.max[column]) == (min(numbers), max(numbers))


def test_nothing_wraps_around() -> None:
    """Sums of bytes do not stay in bytes."""
    rows = np.full((12, 1), 200, np.uint8)
    for quantiles in (True, False):
        statistics = FieldStatistics.of(rows, quantiles=quantiles)
        assert (statistics.mean.item(), statistics.std.item()) == (200.0, 0.0)


def test_small_spread_far_from_zero_is_kept() -> None:
    """Where the textbook formula, and float32, give nonsense; also through merging."""
    rows = 1e9 + np.arange(10_000.0) % 2
    merged = FieldStatistics.of(rows[:1])
    for part in np.split(rows[1:], [10, 500, 501, 7000]):
        merged = merged.merge(FieldStatistics.of(part))
    assert merged.std.item() == pytest.approx(0.5, rel=1e-9)
    assert merged.mean.item() == pytest.approx(1e9 + 0.5, rel=1e-15)


@pytest.mark.parametrize("shape", [(300, 2000), (2, 300_000), (1, 600_000), (600_000,)])
def test_large_arrays_are_halved_and_merged(shape: tuple[int, ...]) -> None:
    """Which changes nothing but the order of sums."""
    rows = np.random.default_rng(0).normal(5, 1, shape).astype(np.float32)
    statistics = FieldStatistics.of(rows, quantiles=False)
    wide = rows.astype(np.float64)
    np.testing.assert_allclose(statistics.mean, wide.mean(0), rtol=1e-12)
    np.testing.assert_allclose(statistics.std, wide.std(0), rtol=1e-9, atol=1e-12)
    np.testing.assert_array_equal([statistics.min, statistics.max], [wide.min(0), wide.max(0)])
    assert (statistics.count == len(rows)).all()


def test_bfloat16_is_a_number() -> None:
    """The dtype that NumPy does not know by itself."""
    assert FieldStatistics.of(np.array([1, 2], ml_dtypes.bfloat16)).mean.item() == 1.5


def test_elements_may_be_none() -> None:
    """A field of shape (0,) has statistics of shape (0,)."""
    statistics = FieldStatistics.of(np.zeros((3, 0), np.float32))
    assert (statistics.shape, statistics.quantile([0.1, 0.9]).shape) == ((0,), (2, 0))


def test_quantiles_have_the_shape_of_levels_and_values() -> None:
    assert FieldStatistics.of(np.zeros((3, 4, 5))).quantile([0.1, 0.9]).shape == (2, 4, 5)


@pytest.mark.parametrize("dtype", [np.complex64, "S3", object])
def test_what_is_not_a_real_number_is_refused(dtype: Any) -> None:
    with pytest.raises(TypeError, match="expected real numbers"):
        FieldStatistics.of(np.zeros(3, dtype))


def test_quantiles_that_were_not_kept_are_refused() -> None:
    """The message says what to do."""
    with pytest.raises(ValueError, match="quantile_elements"):
        FieldStatistics.of(np.zeros(3), quantiles=False).quantile(0.5)


def test_different_shapes_do_not_merge() -> None:
    with pytest.raises(ValueError, match=r"shape \(2,\) with those of shape \(3,\)"):
        FieldStatistics.of(np.zeros((1, 2))).merge(FieldStatistics.of(np.zeros((1, 3))))


def test_signs_of_zero_do_not_depend_on_the_order() -> None:
    """0.0 and -0.0 are equal, so whichever comes first must not show in what is saved."""
    plus, minus = np.zeros((1, 3)), -np.zeros((1, 3))
    both = FieldStatistics.of(np.concatenate([plus, minus])).to_json()
    for first, second in ((plus, minus), (minus, plus)):
        merged = FieldStatistics.of(first).merge(FieldStatistics.of(second)).to_json()
        assert merged == both
        assert FieldStatistics.of(np.concatenate([first, second])).to_json() == both
