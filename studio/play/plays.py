"""All sessions that are being played."""

import asyncio
import logging
import time
from collections.abc import Callable
from typing import Final

from rlds_kit.studio.play.host import Host, NotAdmittedError
from rlds_kit.studio.play.ledger import Ledger
from rlds_kit.studio.play.play import Play
from rlds_kit.studio.workers.pool import EnvironmentLostError, RequestFailedError, WorkerPool

LATE_SECONDS: Final = 5.0
"""For the host to note down what it could not before, when the server is shut down."""
log = logging.getLogger(__name__)


class Plays:
    """Begins sessions when somebody comes, and forgets them when they are over.

    Args:
      pool: of environments; whoever made it closes it, after `close`.
      host: the server around.
      clock: in nanoseconds.
    """

    def __init__(self, pool: WorkerPool, host: Host, clock: Callable[[], int] = time.monotonic_ns) -> None:
        self._pool, self._host, self._clock = pool, host, clock
        self._plays: dict[str, Play] = {}
        self._opening: dict[str, asyncio.Task[Play]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._late: set[Ledger] = set()
        self._is_closed = False

    @property
    def sessions(self) -> tuple[str, ...]:
        """Those that are being played."""
        return tuple(self._plays)

    async def of(self, session: str) -> Play:
        """The play of a session, which begins now if nobody was there before.

        Raises:
          NotAdmittedError: it cannot be played; the reason says why.
        """
        while session in self._plays and self._plays[session].running.is_ending:
            await asyncio.shield(self._tasks[session])
        if self._is_closed:
            raise NotAdmittedError("closed", "the server is being shut down")
        if session in self._plays:
            return self._plays[session]
        if session not in self._opening:
            self._opening[session] = asyncio.create_task(self._open(session))
        return await asyncio.shield(self._opening[session])  # others may wait for it too

    async def _open(self, session: str) -> Play:
        try:
            scene = await self._host.scene(session)
            play = Play(session, scene, lambda: self._pool.open(scene.open), self._host, self._clock)
            await play.prepare()
        except (RequestFailedError, EnvironmentLostError) as error:
            raise NotAdmittedError("environment", str(error)) from None
        finally:
            del self._opening[session]
        self._plays[session] = play
        self._tasks[session] = asyncio.create_task(self._run(session, play))
        return play

    async def _run(self, session: str, play: Play) -> None:
        reason = "an error in the server"
        try:
            reason = await play.run()
        except Exception:
            log.exception("session %s", session)
        ledger = await play.end(reason)
        del self._plays[session], self._tasks[session]
        if not ledger.is_settled:
            self._late = {each for each in self._late if not each.is_settled} | {ledger}

    async def close(self, reason: str = "the server was shut down") -> None:
        """Ends all episodes as abandoned; returns when everything is on the disk."""
        self._is_closed = True
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for play in list(self._plays.values()):
            play.stop(reason)
        await asyncio.gather(*self._tasks.values())
        untold = sum(await asyncio.gather(*(each.close(LATE_SECONDS) for each in self._late)))
        if untold:
            log.error("the host could not be told %d things; they stand in the recordings", untold)
