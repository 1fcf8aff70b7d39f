"""The rows of the table of episodes: made once, from only the data that they need."""

import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

import numpy as np

from rlds_kit.base.errors import DamagedError
from rlds_kit.base.step import TIME_NS
from rlds_kit.episode.episode import Episode
from rlds_kit.riegeli import RiegeliError
from rlds_kit.studio.json_numbers import number as json_number
from rlds_kit.studio.replay.profile import episode_return

KNOWN: Final = 200_000
"""Maximum number of cached episodes; then the cache is cleared."""
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Origin:
    """When and in which environment an episode was recorded; empty if that is damaged."""

    started: str = ""
    environment: str = ""


class Rows:
    """Reads data of episodes and caches it. Safe to use from several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._origins: dict[uuid.UUID, Origin] = {}
        self._returns: dict[tuple[uuid.UUID, int], float] = {}
        self._seconds: dict[tuple[uuid.UUID, int], tuple[float | None]] = {}

    def origin(self, episode: Episode) -> Origin:
        """Its origin."""
        return self._cached(self._origins, episode.id, lambda: _origin(episode))

    def total(self, episode: Episode) -> float:
        """The sum of its rewards so far; 0 if they are damaged."""
        key = episode.id, episode.length
        return self._cached(self._returns, key, lambda: _unless_damaged(lambda: episode_return(episode), 0.0))

    def seconds(self, episode: Episode) -> float | None:
        """Its duration so far; None if that is damaged or unknown."""
        key = episode.id, episode.length
        return self._cached(self._seconds, key, lambda: (_unless_damaged(lambda: duration(episode), None),))[0]

    def _cached(self, known: dict[Any, T], key: Any, read: Callable[[], T]) -> T:
        found = known.get(key)
        if found is None:
            found = read()
            with self._lock:
                if len(known) >= KNOWN:
                    known.clear()
                known[key] = found
        return found

    def row(self, number: int, episode: Episode, tags: set[str]) -> dict[str, Any]:
        """A row of the table, as JSON."""
        origin = self.origin(episode)
        return {
            "number": number,
            "id": str(episode.id),
            "length": episode.length,
            "end": ending(episode),
            "started": origin.started,
            "environment": origin.environment,
            "return": json_number(self.total(episode)),
            "seconds": self.seconds(episode),
            "tags": sorted(tags),
        }


def ending(episode: Episode) -> str:
    """How an episode ended: the name of its end, "open", or "damaged"."""
    try:
        return "open" if episode.end is None else episode.end.value
    except (DamagedError, RiegeliError):
        return "damaged"


def duration(episode: Episode) -> float | None:
    """Seconds between the first and the last step, if their times were recorded."""
    if episode.length < 2:
        return None
    first, last = _time(episode[:1]), _time(episode[-1:])
    return None if first is None or last is None else (last - first) / 1e9


def _time(step: Episode) -> int | None:
    try:
        values = step[TIME_NS]
    except KeyError:
        return None
    is_whole = isinstance(values, np.ndarray) and values.shape == (1,) and values.dtype.kind in "iu"
    return int(values[0]) if is_whole and (values[0] or step.mask(TIME_NS)[0]) else None


def _origin(episode: Episode) -> Origin:
    def read() -> Origin:
        return Origin(episode.started.isoformat(timespec="seconds"), str(episode.provenance.get("id") or ""))

    return _unless_damaged(read, Origin())


def _unless_damaged(read: Callable[[], T], default: T) -> T:
    try:
        return read()
    except (DamagedError, RiegeliError):
        return default
