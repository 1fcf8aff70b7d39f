"""What trials do, as others see it."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable

from rlds_kit.trials.hosts.finished_trial import TrialState


class Watcher:
    """The states of trials for one who watches: every phase; of steps that come faster than one reads, the latest.

    Args:
      dropped: called for each state that is replaced before it is read.
    """

    def __init__(self, dropped: Callable[[], None] = lambda: None) -> None:
        self._dropped = dropped
        self._states: deque[TrialState] = deque()
        self._news = asyncio.Event()
        self._is_closed = False

    def show(self, state: TrialState) -> None:
        """Takes a new state."""
        for place in range(len(self._states) - 1, -1, -1):
            if self._states[place].id == state.id:
                if self._states[place].phase is state.phase:
                    del self._states[place]
                    self._dropped()
                break
        self._states.append(state)
        self._news.set()

    def close(self) -> None:
        """There are no more states."""
        self._is_closed = True
        self._news.set()

    async def states(self) -> AsyncIterator[TrialState]:
        """States, as they come; ends when the host is closed."""
        while True:
            while self._states:
                yield self._states.popleft()
            if self._is_closed:
                return
            self._news.clear()
            await self._news.wait()
