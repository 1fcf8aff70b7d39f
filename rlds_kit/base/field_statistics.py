"""Mergeable statistics of a field: count, mean, variance, bounds and quantiles of each of its elements.

Means and sums of squared deviations of two parts are combined as in Chan, Golub and LeVeque, "Updating Formulae and a
Pairwise Algorithm for Computing Sample Variances", 1979. Everything is computed in float64, so no
integer wraps around and no float32 sum loses its small terms.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

import numpy as np
import numpy.typing as npt

from rlds_kit.base.quantile_sketch import Floats, Integers, QuantileSketch

_BLOCK: Final = 64
"""Rows of bytes that are summed in float32. Exact, because 64 * 255**2 is below 2**24, and small enough for the
cache."""
_MAX_VALUES: Final = 2**19
"""Values that are processed together, to fit into the cache. Larger arrays are halved; merging loses no precision."""


@dataclass(frozen=True, slots=True, eq=False)
class FieldStatistics:
    """Statistics of the values of a field, element by element. The shape `[...]` is that of one value.

    NaN is left out, element by element, and counted. Infinities are included: they are among the quantiles, and make
    mean and standard deviation infinite or NaN. Integers beyond 2**53 are rounded to float64.

    Attributes:
      count: `[...]` int64, values without NaN.
      nan_count: `[...]` int64, values that are NaN.
      mean: `[...]` float64; NaN where there are no values.
      squares: `[...]` float64, sum of squared deviations from the mean.
      min: `[...]` float64, exact; NaN where there are no values.
      max: `[...]` float64, exact; NaN where there are no values.
      sketches: of each element in C order, from which quantiles are estimated; None if they were not requested.

    >>> rewards = FieldStatistics.of(np.array([1, 2, 6], np.uint8))
    >>> rewards.mean.item(), rewards.max.item(), rewards.quantile(0.5).item()
    (3.0, 6.0, 2.0)
    """

    count: Integers
    nan_count: Integers
    mean: Floats
    squares: Floats
    min: Floats
    max: Floats
    sketches: tuple[QuantileSketch, ...] | None

    @classmethod
    def of(cls, values: npt.ArrayLike, *, quantiles: bool = True) -> Self:
        """The statistics of values `[N, ...]` of real numbers or bools.

        Args:
          values: one row for each value; there may be none.
          quantiles: whether to store the data for quantiles: up to 64 KiB for each element.

        Raises:
          TypeError: the values are not real numbers.
        """
        rows = np.asarray(values)
        if rows.dtype.kind not in "biuf" and rows.dtype.name != "bfloat16":
            raise TypeError(f"expected real numbers, got values of dtype {rows.dtype}")
        shape = rows.shape[1:]
        columns, sketches = rows.reshape(len(rows), math.prod(shape)).T, None
        if quantiles:
            columns = np.ascontiguousarray(columns, np.float64)
            sketches = tuple(map(_sketch, columns))
        elif columns.dtype.itemsize > 1 and columns.size > _MAX_VALUES and len(rows) > 1:
            half = len(rows) // 2
            return cls.of(rows[:half], quantiles=False).merge(cls.of(rows[half:], quantiles=False))
        moments = _moments_of_bytes(columns) if columns.dtype.itemsize == 1 else _moments(columns)
        count, nan_count, mean, squares, low, high = (each.reshape(shape) for each in moments)
        return cls(count, nan_count, mean, squares, low, high, sketches)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of one value."""
        return self.mean.shape

    @property
    def variance(self) -> Floats:
        """The variance of the values themselves, so with the count as divisor; NaN where there are no values."""
        with np.errstate(invalid="ignore", divide="ignore"):
            return self.squares / self.count

    @property
    def std(self) -> Floats:
        """The square root of the variance."""
        return np.sqrt(self.variance)

    def quantile(self, level: npt.ArrayLike) -> Floats:
        """Estimates quantiles as `numpy.quantile` defines them; `relative_error` bounds the error.

        Args:
          level: of shape `S`, between 0 and 1. 0 gives the minimum and 1 the maximum, both without error.

        Returns:
          `[*S, ...]` float64; NaN where there are no values.

        Raises:
          ValueError: quantiles were not requested when the statistics were made, or a level is outside of [0, 1].
        """
        each = [sketch.quantile(level) for sketch in self._require_sketches()]
        shape = np.shape(level)
        stacked = np.stack(each, -1) if each else np.empty((*shape, 0))
        return stacked.reshape((*shape, *self.shape))

    @property
    def relative_error(self) -> Floats:
        """`[...]` float64, the largest error of a quantile as a fraction of its magnitude.

        See `QuantileSketch.quantile` for the exact bound.

        Raises:
          ValueError: quantiles were not requested when the statistics were made.
        """
        return np.array([sketch.relative_error for sketch in self._require_sketches()]).reshape(self.shape)

    def merge(self, other: Self) -> Self:
        """The statistics of the values of both; with quantiles if both have them.

        Raises:
          ValueError: the values have different shapes.
        """
        if self.shape != other.shape:
            raise ValueError(
                f"cannot merge statistics of values of shape {self.shape} with those of shape {other.shape}"
            )
        sketches = None
        if self.sketches is not None and other.sketches is not None:
            sketches = tuple(map(QuantileSketch.merge, self.sketches, other.sketches))
        mean, squares = _merge_moments(self, other)
        return type(self)(
            self.count + other.count,
            self.nan_count + other.nan_count,
            mean,
            squares,
            np.fmin(self.min, other.min),
            np.fmax(self.max, other.max),
            sketches,
        )

    def to_json(self) -> dict[str, Any]:
        """The statistics as values for JSON. Numbers that are not finite are text."""
        return {
            "shape": list(self.shape),
            **{name: _to_list(getattr(self, name)) for name in _INTEGERS + _FLOATS},
            "sketches": None if self.sketches is None else [sketch.to_json() for sketch in self.sketches],
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Restores the statistics from the result of `to_json`, bit for bit."""
        shape, sketches = tuple(value["shape"]), value["sketches"]
        count, nan_count = (np.array(value[name], np.int64).reshape(shape) for name in _INTEGERS)
        floats = (np.array([float(number) for number in value[name]], np.float64).reshape(shape) for name in _FLOATS)
        mean, squares, low, high = floats
        restored = None if sketches is None else tuple(map(QuantileSketch.from_json, sketches))
        return cls(count, nan_count, mean, squares, low, high, restored)

    def _require_sketches(self) -> tuple[QuantileSketch, ...]:
        if self.sketches is None:
            raise ValueError(
                f"there are no quantiles of these values of shape {self.shape}: they were not requested when the "
                "statistics were made. Use min and max, or make the statistics again with a larger `quantile_elements`"
            )
        return self.sketches


_INTEGERS: Final = ("count", "nan_count")
_FLOATS: Final = ("mean", "squares", "min", "max")


def _moments(columns: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Counts, mean, squares, minimum and maximum of the rows `[D, N]`."""
    columns = columns.astype(np.float64, copy=False)
    size, number = columns.shape
    is_nan = np.isnan(columns)
    nan_count = is_nan.sum(1) if is_nan.any() else np.zeros(size, np.int64)
    count = number - nan_count
    has_nan = bool(nan_count.any())
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):  # no values, or infinities
        mean = (np.where(is_nan, 0, columns) if has_nan else columns).sum(1) / count
        deviation = columns - mean[:, np.newaxis]
        if has_nan:
            deviation[is_nan] = 0
        # The mean is rounded: this corrects the rounding error of the mean, and of the squares.
        rounding = deviation.sum(1) / count
        squares = np.einsum("dn,dn->d", deviation, deviation) - count * rounding**2
        mean = np.where(np.isfinite(rounding), mean + rounding, mean)
    # Which of 0.0 and -0.0 is smaller depends on their order; adding 0.0 makes one of them.
    bounds = (reduce(columns, 1, initial=np.nan) + 0.0 for reduce in (np.fmin.reduce, np.fmax.reduce))
    return count, nan_count, mean, np.maximum(squares, 0), *bounds


def _moments_of_bytes(columns: npt.NDArray[Any]) -> tuple[npt.NDArray[Any], ...]:
    """Computes the moments of one-byte integers or bools from exact integer sums, several times faster for images."""
    columns = columns.view(np.uint8) if columns.dtype == bool else columns
    size, number = columns.shape
    total, total_of_squares = np.zeros(size, np.int64), np.zeros(size, np.int64)
    for start in range(0, number, _BLOCK):
        block = columns[:, start : start + _BLOCK].astype(np.float32)
        total += block.sum(1).astype(np.int64)
        total_of_squares += np.multiply(block, block, out=block).sum(1).astype(np.int64)
    count = np.full(size, number)
    if not number:
        none = np.full(size, np.nan)
        return count, count, none, np.zeros(size), none, none
    whole, rest = np.divmod(total, number)  # deviations from the whole part of the mean are integers too
    squares = total_of_squares - whole * (2 * total - number * whole) - rest * (rest / number)
    bounds = (columns.min(1).astype(np.float64), columns.max(1).astype(np.float64))
    return count, np.zeros(size, np.int64), total / number, squares, *bounds


def _merge_moments(a: FieldStatistics, b: FieldStatistics) -> tuple[Floats, Floats]:
    """Mean and squares of the union; a part without values changes nothing."""
    count = a.count + b.count
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        difference = b.mean - a.mean
        mean = a.mean + difference * (b.count / count)
        squares = a.squares + b.squares + difference**2 * (a.count * (b.count / count))
    parts = [a.count == 0, b.count == 0]
    return np.select(parts, [b.mean, a.mean], mean), np.select(parts, [b.squares, a.squares], squares)


def _sketch(values: Floats) -> QuantileSketch:
    is_nan = np.isnan(values)
    return QuantileSketch.of(values[~is_nan] if is_nan.any() else values)


def _to_list(array: npt.NDArray[Any]) -> list[Any]:
    return [number if math.isfinite(number) else str(number) for number in array.ravel().tolist()]
