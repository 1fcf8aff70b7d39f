"""Collectors for any environment: score, time played, active time."""

import functools
import math
from collections.abc import Mapping
from typing import Any, Final

import numpy as np

from rlds_kit.crowd.collectors.collector import READS, Collector
from rlds_kit.crowd.collectors.moment import Moment

_SECOND: Final = 1_000_000_000


class _Score:
    def __init__(self) -> None:
        self._total = 0.0

    def __call__(self, moment: Moment) -> float:
        self._total += moment.reward
        return self._total


class _TimePlayed:
    def __init__(self) -> None:
        self._ns = 0

    def __call__(self, moment: Moment) -> float:
        self._ns += moment.ended_ns - moment.began_ns
        return self._ns / _SECOND


class _ActiveTime:
    def __init__(self, key_seconds: float, reward_seconds: float) -> None:
        self._limits = key_seconds, reward_seconds
        self._ns = self._elapsed = 0
        self._acted = self._rewarded = -math.inf

    def __call__(self, moment: Moment) -> float:
        duration = moment.ended_ns - moment.began_ns
        self._elapsed += duration
        if not is_idle(moment.action):
            self._acted = self._elapsed
        if moment.reward:
            self._rewarded = self._elapsed
        since = (self._elapsed - self._acted, self._elapsed - self._rewarded)
        if all(each <= limit * _SECOND for each, limit in zip(since, self._limits, strict=True)):
            self._ns += duration
        return self._ns / _SECOND


def is_idle(action: Any) -> bool:
    """Whether an action is the one of doing nothing: no action, or only zeros.

    >>> is_idle(0), is_idle({"move": [0.0, 0.0]}), is_idle(2), is_idle(None)
    (True, True, False, True)
    """
    if action is None:
        return True
    if isinstance(action, Mapping):
        return all(map(is_idle, action.values()))
    if isinstance(action, tuple | list):
        return all(map(is_idle, action))
    return not np.any(np.asarray(action))


def active_time(key_seconds: float = 30, reward_seconds: float = 60, *, name: str = "active_time") -> Collector:
    """Seconds in which a participant did something: an action and a reward were not long ago.

    Args:
      key_seconds: since the last action that does something.
      reward_seconds: since the last reward that was not 0.
      name: of the collector.

    >>> active_time(20, name="active_time_20").name
    'active_time_20'
    """
    return Collector(
        name, "Seconds of active play", functools.partial(_ActiveTime, key_seconds, reward_seconds), reads=READS
    )


SCORE: Final = Collector("score", "Score", _Score, reads=READS)
"""The sum of rewards."""
TIME_PLAYED: Final = Collector("time_played", "Seconds played", _TimePlayed, reads=READS)
"""Seconds, by the recorded clock, or by the rate of steps."""
ACTIVE_TIME: Final = active_time()
"""Seconds of active play, with 30 seconds since an action and 60 since a reward."""
