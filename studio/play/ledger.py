"""Notifies the host of what happens in a session: in order, and again until the host has stored it."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Final

from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.studio.play.host import NotNotedError

log = logging.getLogger(__name__)
FIRST_SECONDS: Final = 0.25
MOST_SECONDS: Final = 10.0

Notify = Callable[[], Awaitable[None]]


class Ledger:
    """Sends notes to the host one after another, while the game goes on.

    A database that is gone for a while makes rows late, and loses none.

    Args:
      warn: called once for each time that the host begins to fail.
      first_seconds: until a host that failed is notified again; then twice as long, and so on.
    """

    def __init__(self, warn: Callable[[str], None], first_seconds: float = FIRST_SECONDS) -> None:
        self._warn, self._first_seconds = warn, first_seconds
        self._waiting: deque[tuple[Notify, Callable[[], None]]] = deque()
        self._task: asyncio.Task[None] | None = None
        self._is_failing = asyncio.Event()

    @property
    def is_settled(self) -> bool:
        """Whether the host has stored everything."""
        return self._task is None

    def note(self, notify: Notify, then: Callable[[], None] = lambda: None) -> None:
        """Adds a note.

        Args:
          notify: calls the host; it is called again if it raises.
          then: called when the host has stored it.
        """
        self._waiting.append((notify, then))
        if self._task is None:
            self._task = asyncio.create_task(self._send_all())

    async def settle(self, seconds: float) -> bool:
        """Waits for the host, but not for one that fails.

        Returns:
          Whether it has stored everything.
        """
        if self._task is not None:
            failing = asyncio.create_task(self._is_failing.wait())
            await asyncio.wait({self._task, failing}, timeout=seconds, return_when=asyncio.FIRST_COMPLETED)
            failing.cancel()
        return self.is_settled

    async def close(self, seconds: float) -> int:
        """Tries a last time, for so long; returns how many notes the host did not store."""
        if self._task is not None:
            await cancel_and_wait(self._task)
        try:
            async with asyncio.timeout(seconds):
                while self._waiting:
                    await self._waiting[0][0]()
                    self._waiting.popleft()
        except Exception:
            log.exception("the host is not notified again")
        return len(self._waiting)

    async def _send_all(self) -> None:
        wait = self._first_seconds
        while self._waiting:
            notify, then = self._waiting[0]
            try:
                await notify()
            except NotNotedError as error:
                log.exception("the host does not store this")
                self._warn(str(error))
            except Exception as error:  # a database that may come back
                if not self._is_failing.is_set():
                    log.exception("the host is notified again until it stores this")
                    self._warn(str(error))
                self._is_failing.set()
                await asyncio.sleep(wait)
                wait = min(2 * wait, MOST_SECONDS)
                continue
            else:
                then()
            self._waiting.popleft()
            self._is_failing.clear()
            wait = self._first_seconds
        self._task = None
