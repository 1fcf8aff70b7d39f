"""Token buckets: limits how often each key, such as a user, may do something."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST_BUCKETS: Final = 10_000
"""Beyond this number, full buckets are removed; if there are none, the oldest ones."""


@dataclass(frozen=True, slots=True)
class Limit:
    """The limit of a token bucket.

    Attributes:
      per_second: calls per second on average.
      burst: calls that may come at once.
    """

    per_second: float
    burst: int


@dataclass(slots=True)
class _Bucket:
    level: float
    time: float


class RateLimiter:
    """Counts calls by key, such as a user or an address, and limits their rate.

    Args:
      limit: for each key.
      clock: returns the time in seconds.

    >>> limiter = RateLimiter(Limit(per_second=1, burst=2), clock=lambda: 0.0)
    >>> [limiter.wait("ann") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, key: str) -> float:
        """Counts a call if the limit allows it.

        Returns:
          0.0 if it was counted; else the number of seconds after which it would be allowed.
        """
        now = self._clock()
        bucket = self._buckets.get(key)
        if bucket is None:
            self._make_room(now)
            bucket = self._buckets[key] = _Bucket(self._limit.burst, now)
        bucket.level, bucket.time = self._level(bucket, now), now
        if bucket.level < 1:
            return (1 - bucket.level) / self._limit.per_second
        bucket.level -= 1
        return 0.0

    async def pause(self, key: str) -> None:
        """Waits until the limit allows a call, counts it and returns."""
        while seconds := self.wait(key):  # noqa: ASYNC110  it is known how long that takes
            await asyncio.sleep(seconds)

    def _level(self, bucket: _Bucket, now: float) -> float:
        return min(self._limit.burst, bucket.level + (now - bucket.time) * self._limit.per_second)

    def _make_room(self, now: float) -> None:
        if len(self._buckets) < MOST_BUCKETS:
            return
        self._buckets = {
            key: bucket for key, bucket in self._buckets.items() if self._level(bucket, now) < self._limit.burst
        }
        for key in list(self._buckets)[: max(0, len(self._buckets) - math.floor(MOST_BUCKETS * 0.9))]:
            del self._buckets[key]
