"""How many messages a window may send."""

import asyncio
import time
from collections.abc import Callable


class RateLimit:
    """Lets so many through in a second, twice as many at once; others wait, and with them whoever sends.

    Args:
      per_second: how many.
      clock: in seconds.

    >>> limit = RateLimit(10, clock=lambda: 0.0)
    >>> [limit.wait_seconds() for _ in range(21)][-2:]
    [0.0, 0.1]
    """

    def __init__(self, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._per_second, self._clock = per_second, clock
        self._left, self._since = 2 * per_second, clock()

    def wait_seconds(self) -> float:
        """Counts a message; how long it has to wait."""
        now = self._clock()
        self._left = min(2 * self._per_second, self._left + (now - self._since) * self._per_second) - 1
        self._since = now
        return max(0.0, -self._left / self._per_second)

    async def pass_one(self) -> None:
        """Returns when a message may go through."""
        seconds = self.wait_seconds()
        if seconds:
            await asyncio.sleep(seconds)
