"""Who is here: has a connection, or sent something not long ago."""

import time
from collections import defaultdict
from collections.abc import Callable
from typing import Final

READING_SECONDS: Final = 900.0
"""That a participant may read, or answer questions, without a sign; pages in the background are seldom heard of."""


class Presence:
    """When people were seen last.

    Args:
      now: seconds of a clock that does not go back.

    >>> presence = Presence(lambda: 10.0)
    >>> presence.seen("ann")
    >>> presence.away("ann"), presence.is_connected("ann")
    (0.0, False)
    """

    def __init__(self, now: Callable[[], float] = time.monotonic) -> None:
        self._now, self._began = now, now()
        self._seen: dict[str, float] = {}
        self._connections: defaultdict[str, set[str]] = defaultdict(set)

    def seen(self, person: str) -> None:
        """A participant sent something."""
        self._seen[person] = self._now()

    def connected(self, person: str, connection: str, *, is_there: bool) -> None:
        """A connection of a participant is there, or is gone."""
        self.seen(person)
        if is_there:
            self._connections[person].add(connection)
        else:
            self._connections[person].discard(connection)

    def is_connected(self, person: str) -> bool:
        """Whether a participant waits or plays."""
        return bool(self._connections.get(person))

    def away(self, person: str) -> float:
        """For how many seconds nothing was heard of a participant; at most since this began."""
        return 0.0 if self.is_connected(person) else self._now() - self._seen.get(person, self._began)
