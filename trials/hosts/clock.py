"""A clock that never goes back, and a timer for it."""

import asyncio
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


class WakeTimer:
    """Calls a function at a time, and again if the event loop, which has a clock of its own, was too early.

    Args:
      now: the clock, in nanoseconds.
      wake: the function; it may set another time.
    """

    def __init__(self, now: Callable[[], int], wake: Callable[[], object]) -> None:
        self._now, self._wake = now, wake
        self._time_ns: int | None = None
        self._handle: asyncio.TimerHandle | None = None

    def set(self, time_ns: int | None) -> None:
        """Sets the time, in place of the one before; None: no call."""
        self._time_ns = time_ns
        self._schedule()

    @property
    def _is_scheduled(self) -> bool:
        return self._handle is not None

    def _schedule(self) -> None:
        if self._handle is not None:
            self._handle.cancel()
        self._handle = None
        if self._time_ns is not None:
            seconds = max(0, self._time_ns - self._now()) / 1e9
            self._handle = asyncio.get_running_loop().call_later(seconds, self._fire)

    def _fire(self) -> None:
        self._handle = None
        self._wake()
        if not self._is_scheduled:  # the time did not change: the event loop was early
            self._schedule()
