"""A timer for a clock that may differ from the event loop's."""

import asyncio
from collections.abc import Callable


class WakeTimer:
    """Calls a function at a time, and again if the event loop was too early for the clock.

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
