"""Chooses bins that all datasets share."""

import math
from collections.abc import Sequence
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.tools.plot.tally import Tally

TAIL: Final = 10
"""An axis leaves out the tails if with them it would be so many times as long as without."""

_CORE: Final = (0.01, 0.99)
_EXACT: Final = 2.0**52
_NO_CHANCE: Final = 8


class Bins(NamedTuple):
    """Adjacent bins; each includes its lower edge and excludes its upper one, except that the last includes both.

    Attributes:
      edges: ascending, one more than bins; empty where there is nothing to count.
      is_discrete: whether each bin contains a single value, the one in its middle.
    """

    edges: np.ndarray
    is_discrete: bool = False


def bins_of_values(samples: Sequence[np.ndarray], most: int) -> Bins:
    """Bins for one number per episode.

    For whole numbers, each bin has equally many possible values. If a few numbers are so far away that the others could
    not be distinguished, the bins do not include them.

    Args:
      samples: finite float64 numbers of each dataset.
      most: at most so many bins.

    >>> bins_of_values([np.array([1.0, 3.0]), np.array([2.0])], 30)
    Bins(edges=array([0.5, 1.5, 2.5, 3.5]), is_discrete=True)
    """
    samples = [sample for sample in samples if len(sample)]
    if not samples:
        return Bins(np.empty(0))
    values = np.unique(np.concatenate(samples))
    low, high = _without_tails(samples, values)
    values = values[(values >= low) & (values <= high)]
    if np.array_equal(values, np.floor(values)) and np.abs(values).max() < _EXACT:
        return _of_whole_numbers(values, most)
    if values[0] == values[-1]:
        return _around(float(values[0]))
    return Bins(np.linspace(values[0], values[-1], most + 1))


def bins_of_tallies(tallies: Sequence[Tally], most: int) -> Bins:
    """Bins for tallied numbers: single whole numbers, or cells of one exponent.

    Args:
      tallies: one for each dataset.
      most: at most so many bins, two or more.
    """
    cells = [tally.cells()[0] for tally in tallies]
    tallies = [tally for tally, filled in zip(tallies, cells, strict=True) if len(filled)]
    if not tallies:
        return Bins(np.empty(0))
    low, high = min(tally.low for tally in tallies), max(tally.high for tally in tallies)
    exponent = max(tally.exponent for tally in tallies)
    if all(tally.is_whole for tally in tallies) and exponent <= 0 and max(-low, high) < _EXACT:
        return _of_whole_numbers(np.unique(np.concatenate(cells)), most)
    if low == high:
        return _around(low)
    while (last := math.ceil(math.ldexp(high, -exponent))) - (first := math.floor(math.ldexp(low, -exponent))) > most:
        exponent += 1
    return Bins(np.ldexp(np.arange(first, last + 1, dtype=np.float64), exponent))


def _without_tails(samples: Sequence[np.ndarray], values: np.ndarray) -> tuple[float, float]:
    """The range of the axis, given the percentiles of each dataset."""
    quantiles = np.array([np.quantile(sample, _CORE) for sample in samples])
    low, high = float(quantiles[:, 0].min()), float(quantiles[:, 1].max())
    margin = (high - low) / 2
    if 0 < TAIL * (high - low) < values[-1] - values[0]:
        return low - margin, high + margin
    return float(values[0]), float(values[-1])


def _of_whole_numbers(values: np.ndarray, most: int) -> Bins:
    """Bins of equally many whole numbers.

    Scores are often multiples of 5 or 100. Then numbers between these multiples are not counted as possible, or some
    bins would have more possible scores than their neighbours. This is not applied to few numbers, where it may be
    chance.
    """
    numbers = values.astype(np.int64)
    step = int(np.gcd.reduce(numbers - numbers[0])) if len(numbers) >= _NO_CHANCE else 1
    count = int(numbers[-1] - numbers[0]) // step + 1
    per_bin = math.ceil(count / most)
    edges = numbers[0] - step / 2 + step * per_bin * np.arange(math.ceil(count / per_bin) + 1)
    return Bins(edges, is_discrete=per_bin == 1)


def _around(value: float) -> Bins:
    """One bin for a constant."""
    margin = max(0.5, abs(value) / 100)
    return Bins(np.array([value - margin, value + margin]), is_discrete=True)
