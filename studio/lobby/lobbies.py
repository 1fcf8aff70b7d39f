"""All lobbies of a studio."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Final, Self

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.studio.lobby.lobby import Gather, Lobby, LobbyPlan, Person
from rlds_kit.studio.lobby.messages import Refused

log = logging.getLogger(__name__)
TICK_SECONDS: Final = 1.0


class Lobbies:
    """The lobbies of all environments; each is there while a person waits in it.

    Args:
      gather: makes a session of an environment: called with its key.
      now: seconds of a clock that does not go back.
    """

    def __init__(self, gather: Callable[[str], Gather], now: Callable[[], float] = time.monotonic) -> None:
        self._gather, self._now = gather, now
        self._lobbies: dict[str, Lobby] = {}
        self._task: asyncio.Task[None] | None = None

    @property
    def waiting(self) -> int:
        """How many people wait, in all lobbies."""
        return sum(len(each.waiting) for each in self._lobbies.values())

    def enter(self, key: str, plan: LobbyPlan, person: Person) -> bool:
        """A person comes to a lobby, whose plan is the latest one. Returns whether there is room."""
        lobby = self._lobbies.setdefault(key, Lobby(plan, self._gather(key), self._now))
        lobby.plan = plan
        return lobby.enter(person)

    def leave(self, key: str, person: Person) -> None:
        """A person waits no more."""
        if key in self._lobbies:
            self._lobbies[key].leave(person)
            self._forget_empty()

    def pause(self, keys: Iterable[str], notice: str) -> None:
        """No game begins in these lobbies until they go on; see `Lobby.pause`."""
        for each in self._of(keys):
            each.pause(notice)

    def go_on(self, keys: Iterable[str]) -> None:
        """These lobbies go on after a pause."""
        for each in self._of(keys):
            each.go_on()

    def dismiss(self, keys: Iterable[str], refused: Refused) -> None:
        """Sends away those who wait in these lobbies; games that are about to begin, begin."""
        for each in self._of(keys):
            each.dismiss(refused)
        self._forget_empty()

    def _of(self, keys: Iterable[str]) -> list[Lobby]:
        return [self._lobbies[each] for each in keys if each in self._lobbies]

    def tick(self) -> None:
        """Once a second."""
        for each in list(self._lobbies.values()):
            each.tick()
        self._forget_empty()

    def _forget_empty(self) -> None:
        self._lobbies = {key: each for key, each in self._lobbies.items() if not each.is_empty}

    async def __aenter__(self) -> Self:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            await cancel_and_wait(self._task)
        for each in self._lobbies.values():
            await each.close()

    async def _run(self) -> None:
        while True:
            await asyncio.sleep(TICK_SECONDS)
            try:
                self.tick()
            except Exception:
                log.exception("a lobby failed")
