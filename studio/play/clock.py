"""A clock that never goes back."""

import time
from collections.abc import Callable


class SteadyClock:
    """Nanoseconds from somewhere; where the clock below jumps back, it stands for a moment and goes on.

    Args:
      clock: the one below.

    >>> times = iter([10, 20, 5, 8])
    >>> steady = SteadyClock(lambda: next(times))
    >>> [steady(), steady(), steady(), steady()]
    [10, 20, 20, 23]
    """

    def __init__(self, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._clock, self._last, self._ahead = clock, 0, 0

    def __call__(self) -> int:
        """Now."""
        now = self._clock() + self._ahead
        if now < self._last:
            self._ahead += self._last - now
        self._last = max(now, self._last)
        return self._last
