"""Token buckets: how often somebody may do something."""

import asyncio
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

MOST_BUCKETS: Final = 10_000
"""Then buckets that are full again are forgotten; if there are none, the oldest ones."""


@dataclass(frozen=True, slots=True)
class Limit:
    """How often.

    Attributes:
      per_second: in the long run.
      burst: at once.
    """

    per_second: float
    burst: int


@dataclass(slots=True)
class _Bucket:
    level: float
    time: float


class RateLimiter:
    """Counts by key, as a user or an address.

    Args:
      limit: how often.
      clock: in seconds.

    >>> limiter = RateLimiter(Limit(per_second=1, burst=2), clock=lambda: 0.0)
    >>> [limiter.wait("ann") for _ in range(3)]
    [0.0, 0.0, 1.0]
    """

    def __init__(self, limit: Limit, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit, self._clock = limit, clock
        self._buckets: dict[str, _Bucket] = {}

    def wait(self, key: str) -> float:
        """Counts one more.

        Returns:
          0.0 if that is all right; else it was not counted, and would be all right after so many seconds.
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
        """Counts one more as soon as that is all right, and returns then."""
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
