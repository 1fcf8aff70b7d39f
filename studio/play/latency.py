"""Times of many things, in little room."""

import math
from collections import deque
from dataclasses import dataclass, field

_MOST = 4096


@dataclass(slots=True)
class Latencies:
    """The latest thousands of them.

    >>> latencies = Latencies()
    >>> for milliseconds in range(1, 101):
    ...     latencies.add(milliseconds * 1_000_000)
    >>> latencies.percentile(50), latencies.percentile(95)
    (50.0, 95.0)
    """

    _latest: deque[int] = field(default_factory=lambda: deque(maxlen=_MOST))

    def add(self, nanoseconds: int) -> None:
        """Takes one."""
        self._latest.append(nanoseconds)

    def percentile(self, percent: float) -> float | None:
        """So many percent took at most this, in milliseconds; None if there is nothing yet."""
        ordered = sorted(self._latest)
        if not ordered:
            return None
        return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)] / 1e6
