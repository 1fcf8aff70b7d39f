"""Quantiles of a stream of numbers in bounded memory: exact for few numbers, then of a known relative error.

Numbers are counted in buckets. The bits of a float64, read as an integer, grow with its magnitude, so the key of a
number is that integer without its `shift` lowest bits, and its complement for a negative number. All numbers of one
bucket then share sign, exponent and the first `52 - shift` bits of the fraction: buckets of equal width in each power
of two, as in HdrHistogram. `shift` is the smallest that leaves at most `MAX_BUCKETS` buckets; it starts at 0, where
every number has its own bucket, and grows with the data. That is the uniform collapse of "UDDSketch: Accurate Tracking
of Quantiles in Data Streams" (Epicoco et al., IEEE Access, 2020), and the guarantee is that of "DDSketch" (Masson, Rim
and Lee, VLDB 2019, section 2): an error relative to the quantile itself.

The sketch depends only on the multiset of numbers, not on their order or grouping, and merging two sketches gives
exactly the sketch of the union.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Self, TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]
Integers: TypeAlias = npt.NDArray[np.int64]

MAX_BUCKETS: Final = 4096
"""Two signs times 2048 exponents: always sufficient, for any numbers."""
_FRACTION_BITS: Final = 52
_MAGNITUDE: Final = np.int64(2**63 - 1)


@dataclass(frozen=True, slots=True, eq=False)
class QuantileSketch:
    """Counts of numbers in buckets.

    Attributes:
      shift: bits that are left out of the keys.
      keys: `[B]` int64, of the buckets that are not empty, ascending.
      counts: `[B]` int64, the number of values in each bucket.
      min: the smallest number; NaN if there are none.
      max: the largest number; NaN if there are none.

    >>> numbers = QuantileSketch.of(np.arange(1.0, 8.0))
    >>> numbers.relative_error, numbers.quantile(0.5).item()
    (0.0, 4.0)
    """

    shift: int
    keys: Integers
    counts: Integers
    min: float
    max: float

    @classmethod
    def of(cls, values: npt.ArrayLike) -> Self:
        """The sketch of numbers `[N]` that fit into float64. None of them may be NaN; infinities are allowed."""
        numbers = np.asarray(values, np.float64)
        if not len(numbers):
            return cls(0, np.empty(0, np.int64), np.empty(0, np.int64), np.nan, np.nan)
        if np.isnan(numbers).any():
            raise ValueError("expected numbers, got NaN, which has no place in an order; leave it out")
        bits = (numbers + 0.0).view(np.int64)  # the sum makes 0.0 of -0.0
        keys = np.sort(np.where(bits < 0, ~(bits & _MAGNITUDE), bits))
        # Which of 0.0 and -0.0 is smaller depends on their order; adding 0.0 makes one of them.
        return cls(*_in_buckets(0, keys, None), float(numbers.min()) + 0.0, float(numbers.max()) + 0.0)

    @property
    def count(self) -> int:
        """The number of numbers."""
        return int(self.counts.sum())

    @property
    def relative_error(self) -> float:
        """The largest error of a quantile as a fraction of its magnitude; 0.0 while every number has its own bucket."""
        return 0.0 if self.shift == 0 else 2.0 ** (self.shift - 1 - _FRACTION_BITS)

    def merge(self, other: Self) -> Self:
        """The sketch of the numbers of both."""
        if not len(self.keys) or not len(other.keys):
            return self if len(self.keys) else other
        shift = max(self.shift, other.shift)
        keys = np.concatenate([self.keys >> (shift - self.shift), other.keys >> (shift - other.shift)])
        counts = np.concatenate([self.counts, other.counts])
        order = np.argsort(keys, kind="stable")
        merged = _in_buckets(shift, keys[order], counts[order])
        return type(self)(*merged, min(self.min, other.min), max(self.max, other.max))

    def quantile(self, level: npt.ArrayLike) -> Floats:
        """Estimates quantiles as `numpy.quantile` defines them, interpolating between neighbours.

        Args:
          level: of any shape, between 0 and 1. 0 gives the minimum and 1 the maximum, both without error.

        Returns:
          As many quantiles, in float64; NaN if there are no numbers. With `a` and `b` the numbers that `numpy.quantile`
          interpolates between, the error is at most `relative_error * max(|a|, |b|)`. Numbers below 2**-1022 count as
          zero in that bound.

        Raises:
          ValueError: a level is outside of [0, 1].
        """
        levels = np.asarray(level, np.float64)
        if not ((levels >= 0) & (levels <= 1)).all():
            raise ValueError(f"expected levels between 0 and 1, got {levels}")
        if not len(self.keys):
            return np.full(levels.shape, np.nan)
        rank = levels * (self.count - 1)
        below = np.floor(rank)
        low, high, part = self._at_rank(below), self._at_rank(np.ceil(rank)), rank - below
        with np.errstate(invalid="ignore"):  # 0 * infinity, in elements that are not used
            return np.where(low == high, low, low * (1 - part) + high * part)

    def to_json(self) -> dict[str, Any]:
        """The sketch as values for JSON."""
        return {
            "shift": self.shift,
            "keys": self.keys.tolist(),
            "counts": self.counts.tolist(),
            "min": str(self.min),
            "max": str(self.max),
        }

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Self:
        """Restores the sketch from the result of `to_json`, bit for bit."""
        keys, counts = (np.array(value[name], np.int64) for name in ("keys", "counts"))
        return cls(int(value["shift"]), keys, counts, float(value["min"]), float(value["max"]))

    def _at_rank(self, rank: Floats) -> Floats:
        """The number of a rank among the sorted ones, or the middle of its bucket."""
        bucket = np.searchsorted(np.cumsum(self.counts), rank, "right")
        values = np.clip(_middle(self.keys[bucket], self.shift), self.min, self.max)
        return np.where(rank == 0, self.min, np.where(rank == self.count - 1, self.max, values))


def _in_buckets(shift: int, keys: Integers, counts: Integers | None) -> tuple[int, Integers, Integers]:
    """Merges sorted keys, each counted once if there are no counts, into at most `MAX_BUCKETS` larger buckets."""
    collapse = _needed_collapse(keys)
    keys = keys >> collapse
    starts = np.flatnonzero(np.concatenate([[True], keys[1:] != keys[:-1]]))
    totals = np.diff(starts, append=len(keys)) if counts is None else np.add.reduceat(counts, starts)
    return shift + collapse, keys[starts], totals


def _needed_collapse(keys: Integers) -> int:
    """How many more bits must go so that `MAX_BUCKETS` buckets hold all keys.

    Neighbours share a bucket when all bits in which they differ are gone, so it is the length of the `MAX_BUCKETS`-th
    largest difference.
    """
    difference = (keys[1:] ^ keys[:-1]).view(np.uint64)
    if len(difference) < MAX_BUCKETS:
        return 0
    return int(np.partition(difference, -MAX_BUCKETS)[-MAX_BUCKETS]).bit_length()


def _middle(keys: Integers, shift: int) -> Floats:
    """The middle of buckets; zero for the one that holds zero, as smaller numbers than 2**-1022 have no precision."""
    low = np.where(keys < 0, ~keys, keys) << shift
    is_exact = (low == 0) | (low >= np.float64(np.inf).view(np.int64)) | (shift == 0)
    magnitude = np.where(is_exact, low, low + ((1 << shift) >> 1)).view(np.float64)
    return np.where(keys < 0, -magnitude, magnitude)
