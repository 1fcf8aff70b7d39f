"""Credit from the reaction time of people: an event judges a step that was shown some tenths of a second earlier.

The delay from the moment that a person judges to the event has a density f. A step that was shown from b to e gets, for
an event at time t, the probability that the judged moment is within the step: the integral of f from t - e to t - b
(Knox and Stone, 2009). Times are played times, so a pause does not count. The weights are differences of the
distribution function F at the bounds of the steps; so during the episode they sum to F(t - begin of the episode), and
to exactly 1 up to rounding where the density is 0 beyond that. For an event after the episode, the part for the time
since its end is missing, too; if the event is later than the longest delay, no step gets credit.
"""

import functools
import itertools
import math
from abc import ABC, abstractmethod
from bisect import bisect_left
from dataclasses import dataclass
from typing import ClassVar, Final

from rlds_kit.shaping.credit.assigner import Credit
from rlds_kit.shaping.feedback.event import FeedbackEvent
from rlds_kit.shaping.feedback.step_clock import StepClock

NANOSECONDS: Final = 1e9
TAIL: Final = 1e-9
"""Probability of longer delays that a density without a longest delay neglects."""


class DelayAssigner(ABC):
    """An assigner with a density of delays."""

    name: ClassVar[str]
    version: ClassVar[int]

    @abstractmethod
    def cdf(self, delay: float) -> float:
        """The probability of a delay of at most this many seconds: the cumulative distribution function."""

    @property
    @abstractmethod
    def longest(self) -> float:
        """The longest delay in seconds: `cdf` is 1 there."""

    def credit(self, event: FeedbackEvent, clock: StepClock) -> Credit:
        """See `Assigner.credit`."""
        begins, is_over = clock.bounds(event.marks)
        now = clock.played(event.time_ns, event.marks)
        n_steps = len(begins) - is_over
        first = max(bisect_left(begins, now - math.ceil(self.longest * NANOSECONDS)) - 1, 0)
        below = [self.cdf((now - begin) / NANOSECONDS) for begin in begins[first:]]
        if not is_over:
            below.append(0.0)  # the current step has not ended
        weights = [after - before for after, before in itertools.pairwise(below)][: n_steps - first]
        return _trimmed(first, weights)


def _trimmed(first: int, weights: list[float]) -> Credit:
    """Removes steps without credit at both ends."""
    some = [at for at, each in enumerate(weights) if each > 0]
    return Credit(first + some[0], tuple(weights[some[0] : some[-1] + 1])) if some else Credit(0, ())


@dataclass(frozen=True, slots=True)
class UniformWindow(DelayAssigner):
    """All delays in a window, in seconds, are equally probable, as in Deep TAMER.

    Raises:
      ValueError: the window is empty, or begins before the event.

    >>> UniformWindow(0.0, 0.5).cdf(0.125)
    0.25
    """

    name: ClassVar[str] = "uniform"
    version: ClassVar[int] = 1

    low: float = 0.2
    high: float = 0.6

    def __post_init__(self) -> None:
        if not 0 <= self.low < self.high < math.inf:
            raise ValueError(f"window: expected 0 <= low < high in seconds, got {self.low} and {self.high}")

    @property
    def longest(self) -> float:
        """See `DelayAssigner`."""
        return self.high

    def cdf(self, delay: float) -> float:
        """See `DelayAssigner`."""
        return min(max((delay - self.low) / (self.high - self.low), 0.0), 1.0)


@dataclass(frozen=True, slots=True)
class GammaDelay(DelayAssigner):
    """Delays have a gamma density of shape k and scale theta (seconds), shifted by the shortest delay (seconds).

    Delays that only one in 1e9 exceeds are neglected.

    Raises:
      ValueError: shape or scale are not positive, or the shift is negative.

    >>> round(GammaDelay(1.0, 0.5).cdf(0.5), 6) == round(1 - 2.718281828459045**-1, 6)
    True
    """

    name: ClassVar[str] = "gamma"
    version: ClassVar[int] = 1

    shape: float = 2.0
    scale: float = 0.28
    shift: float = 0.0

    def __post_init__(self) -> None:
        if not (0 < self.shape < math.inf and 0 < self.scale < math.inf and 0 <= self.shift < math.inf):
            raise ValueError(
                f"gamma: expected shape > 0, scale > 0 and shift >= 0, got {self.shape}, {self.scale}, {self.shift}"
            )

    @property
    def longest(self) -> float:
        """See `DelayAssigner`."""
        return self.shift + self.scale * _upper_bound(self.shape)

    def cdf(self, delay: float) -> float:
        """See `DelayAssigner`."""
        scaled = (delay - self.shift) / self.scale
        if scaled <= 0:
            return 0.0
        return 1.0 if scaled >= _upper_bound(self.shape) else lower_gamma(self.shape, scaled)


@dataclass(frozen=True, slots=True)
class EmpiricalHistogram(DelayAssigner):
    """Measured delays: a histogram, uniform within each bin.

    Attributes:
      edges: of the bins in seconds, increasing, from 0 on; one more than counts.
      counts: of the delays in each bin, not all 0.

    Raises:
      ValueError: edges or counts are invalid.

    >>> EmpiricalHistogram((0.2, 0.4, 0.8), (3, 1)).cdf(0.6)
    0.875
    """

    name: ClassVar[str] = "histogram"
    version: ClassVar[int] = 1

    edges: tuple[float, ...]
    counts: tuple[float, ...]

    def __post_init__(self) -> None:
        for name in ("edges", "counts"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        are_increasing = all(low < high for low, high in itertools.pairwise(self.edges))
        if (
            len(self.edges) != len(self.counts) + 1
            or not are_increasing
            or not 0 <= self.edges[0] <= self.edges[-1] < math.inf
        ):
            raise ValueError(f"edges: expected {len(self.counts) + 1} increasing ones from 0 on, got {self.edges}")
        if not all(0 <= each < math.inf for each in self.counts) or not sum(self.counts) > 0:
            raise ValueError(f"counts: expected numbers from 0 on, and one above, got {self.counts}")

    @property
    def longest(self) -> float:
        """See `DelayAssigner`."""
        return self.edges[-1]

    def cdf(self, delay: float) -> float:
        """See `DelayAssigner`."""
        if delay >= self.edges[-1]:
            return 1.0
        if delay <= self.edges[0]:
            return 0.0
        at = bisect_left(self.edges, delay) - 1
        low, high = self.edges[at], self.edges[at + 1]
        below = math.fsum(self.counts[:at]) + self.counts[at] * (delay - low) / (high - low)
        return below / math.fsum(self.counts)


def lower_gamma(shape: float, x: float) -> float:
    """The regularised lower incomplete gamma function P(shape, x), to about 1e-14, for x > 0.

    For x < shape + 1 its series converges fast; otherwise the continued fraction of its complement (Lentz's method).

    >>> lower_gamma(1.0, 2.0) == 1 - math.exp(-2.0)
    True
    """
    front = math.exp(shape * math.log(x) - x - math.lgamma(shape))
    return front * _series(shape, x) if x < shape + 1 else 1 - front * _fraction(shape, x)


def _series(shape: float, x: float) -> float:
    term = total = 1 / shape
    at = shape
    while term > total * 1e-17:
        at += 1
        term *= x / at
        total += term
    return total


def _fraction(shape: float, x: float) -> float:
    tiny = 1e-300
    b = x + 1 - shape
    c, d = 1 / tiny, 1 / b
    found = d
    for i in range(1, 10_000):
        a = -i * (i - shape)
        b += 2
        d = 1 / (a * d + b or tiny)
        c = b + a / c or tiny
        found *= d * c
        if abs(d * c - 1) < 1e-16:
            break
    return found


@functools.cache
def _upper_bound(shape: float) -> float:
    """A delay, for scale 1, that is exceeded with less than the neglected probability, by Chernoff's bound."""
    x = max(shape, 1.0)
    while shape * (1 + math.log(x / shape)) - x > math.log(TAIL):
        x += 0.5
    return x
