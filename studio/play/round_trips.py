"""Round trips to a window, measured by the server: the answer has a number that cannot be guessed."""

import secrets
import statistics
from collections import deque
from dataclasses import dataclass, field
from typing import Final

LATEST: Final = 15
"""Round trips that the median is of."""
LEAST: Final = 5
"""From so many on there is a median."""
_BITS: Final = 52
"""Of a number that JavaScript holds exactly."""


@dataclass(slots=True)
class RoundTrips:
    """The latest round trips of a window.

    >>> trips = RoundTrips()
    >>> for time_ns in range(0, 50_000_000, 10_000_000):
    ...     _ = trips.answered(trips.ask(time_ns), time_ns + 3_000_000)
    >>> trips.median_ms(50_000_000)
    3.0
    """

    _latest: deque[int] = field(default_factory=lambda: deque(maxlen=LATEST))
    _asked: tuple[int, int] | None = None

    def ask(self, time_ns: int) -> int | None:
        """The number that the window has to send back; None while it has not sent back the one before."""
        if self._asked is not None:
            return None
        self._asked = secrets.randbits(_BITS), time_ns
        return self._asked[0]

    def answered(self, number: int, time_ns: int) -> bool:
        """The window sent a number back; returns whether it is the right one."""
        if self._asked is None or self._asked[0] != number:
            return False
        self._latest.append(time_ns - self._asked[1])
        self._asked = None
        return True

    def median_ms(self, time_ns: int) -> float | None:
        """The median of the latest, in milliseconds, with the answer that is missing now; None: there are too few."""
        found = list(self._latest)
        if self._asked is not None and found and time_ns - self._asked[1] > max(found):
            found.append(time_ns - self._asked[1])
        return statistics.median(found) / 1e6 if len(found) >= LEAST else None
