"""All sessions that are played."""

import asyncio
import contextlib
import logging
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Final

from rlds_kit.studio.play import window
from rlds_kit.studio.play.host import UNPLAYABLE, Host, NotAdmittedError, Scene
from rlds_kit.studio.play.ledger import Ledger
from rlds_kit.studio.play.live_session import LiveSession
from rlds_kit.studio.play.window import Window
from rlds_kit.trials.actors.actor_pool import ActorPool
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import (
    Environment,
    EnvironmentLostError,
    PoolFullError,
    RequestFailedError,
    WorkerPool,
)

LATE_SECONDS: Final = 5.0
"""For the host to note down what it could not before, when the server is shut down."""
SESSIONS_PER_PERSON: Final = 8
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Guests:
    """Limits of those who came by the link of a study: anybody can have as many accounts as they like.

    Attributes:
      sessions: that one may have begun, and not left.
      share: of all places that they may have together; the others are for those who were invited.
    """

    sessions: int = 2
    share: float = 0.75


class LiveSessions:
    """Begins a session when its first window enters, and forgets it when it is over.

    Args:
      pool: of environments; its creator closes it, after `close`.
      host: the server around.
      clock: in nanoseconds.
      actors: for seats of programs; its creator closes it, too. None: there are none.
      sessions_per_person: of a study, that one person may have begun, and not left.
      guests: limits of those who came by the link of a study.
    """

    def __init__(
        self,
        pool: WorkerPool,
        host: Host,
        clock: Callable[[], int] = time.monotonic_ns,
        *,
        actors: ActorPool | None = None,
        sessions_per_person: int = SESSIONS_PER_PERSON,
        guests: Guests | None = None,
    ) -> None:
        self._guests, self._guest_sessions = guests or Guests(), set[str]()
        self._pool, self._host, self._clock, self._most = pool, host, clock, sessions_per_person
        self._actors = actors or ActorPool()
        self._live: dict[str, LiveSession] = {}
        self._beginners: dict[str, str] = {}
        self._opening: dict[str, asyncio.Task[LiveSession]] = {}
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._late: set[Ledger] = set()
        self._is_closed = False

    @property
    def sessions(self) -> tuple[str, ...]:
        """Ids of those that are played."""
        return tuple(self._live)

    async def of(self, session: str, holder: str, *, is_guest: bool = False) -> LiveSession:
        """A session; it begins now if it is not played yet.

        Args:
          session: which.
          holder: the person who enters.
          is_guest: whether they came by the link of a study.

        Raises:
          NotAdmittedError: it cannot be played; the message gives the reason.
        """
        while session in self._live and self._live[session].is_ending:
            await self.end_of(session)
        if self._is_closed:
            raise NotAdmittedError("closed", "the server is being shut down")
        if session in self._live:
            return self._live[session]
        if session not in self._opening:
            self._begin(session, holder, is_guest=is_guest)
        return await asyncio.shield(self._opening[session])  # others may wait for it too

    async def end_of(self, session: str) -> None:
        """Waits until a session is not played any more."""
        if session in self._tasks:
            await asyncio.shield(self._tasks[session])

    def stop(self, session: str, reason: str) -> None:
        """Ends a session, if it is being played."""
        if session in self._live:
            self._live[session].stop(reason)

    async def sync(self, session: str) -> None:
        """Puts what is recorded of a session on the disk, if it is played; what was closed meanwhile is there."""
        if session in self._live:
            with contextlib.suppress(EnvironmentLostError, RequestFailedError):
                await self._live[session].sync()

    def dismiss(self, session: str, account: str) -> None:
        """Makes a person leave a session for good, if they play there; the others go on."""
        for each in self._windows(session, account):
            self._live[session].leave(each, is_lost=False)
            each.close(window.LEFT, "left")

    def _windows(self, session: str, account: str) -> list[Window]:
        """Of a person, in a session."""
        live = self._live.get(session)
        windows = [] if live is None else live.audience.windows.values()
        return [each for each in windows if each.admission.account == account]

    def round_trip_ms(self, session: str, account: str) -> float | None:
        """The median round trip of a person who plays, in milliseconds; None: they do not, or it is not known yet."""
        found = [each.round_trip_ms for each in self._windows(session, account)]
        return next((each for each in found if each is not None), None)

    def warn(self, session: str, account: str, warning: str) -> None:
        """Shows a person who plays that their link is too slow, or not any more: ""."""
        for each in self._windows(session, account):
            each.warn(warning)

    def _begin(self, session: str, holder: str, *, is_guest: bool) -> None:
        """Begins to open a session, unless one person, or all guests, would have too many places."""
        begun = self._present(name for name, person in self._beginners.items() if person == holder)
        if begun >= (self._guests.sessions if is_guest else self._most):
            raise NotAdmittedError(
                "sessions",
                f"you play {begun} sessions of this study at once, as many as one person may; leave one of them first",
            )
        if is_guest and self._are_guests_many:
            raise NotAdmittedError(
                "guests",
                f"{self._guest_places} sessions of people who came by a link are played, as many as may be; try again "
                "later",
            )
        if is_guest:
            self._guest_sessions.add(session)
        self._beginners[session] = holder
        self._opening[session] = asyncio.create_task(self._open(session))

    @property
    def _guest_places(self) -> int:
        return max(1, int(self._pool.places * self._guests.share))

    @property
    def _are_guests_many(self) -> bool:
        return self._present(self._guest_sessions) >= self._guest_places

    def has_place(self, *, is_guest: bool) -> bool:
        """Whether another session could begin now, also in the place of one that was left."""
        if is_guest and self._are_guests_many:
            return False
        return not self._pool.is_full or any(each.is_left for each in self._live.values())

    def _present(self, sessions: Iterable[str]) -> int:
        """How many of some sessions have a place that cannot be given to others."""
        return sum(not (name in self._live and self._live[name].is_left) for name in sessions)

    async def _open(self, session: str) -> LiveSession:
        scene: Scene | None = None
        try:
            scene = await self._host.scene(session)
            live = LiveSession(
                session, scene, lambda: self._environment(scene.open), self._host, self._actors, self._clock
            )
            await live.prepare()
            self._live[session] = live
        except PoolFullError as error:
            raise NotAdmittedError("full", str(error)) from None
        except (RequestFailedError, EnvironmentLostError) as error:
            log.warning("session %s: the environment cannot be made: %s", session, error)
            raise NotAdmittedError("environment", scene.public(str(error)) if scene else UNPLAYABLE) from None
        finally:
            del self._opening[session]
            if session not in self._live:
                del self._beginners[session]
                self._guest_sessions.discard(session)
        self._tasks[session] = asyncio.create_task(self._run(session, live))
        return live

    async def _environment(self, request: requests.Open) -> Environment:
        """Makes one; where there is no place, in that of a session that was left long ago."""
        while True:
            try:
                return await self._pool.open(request)
            except PoolFullError:
                left = [name for name, live in self._live.items() if live.is_left]
                if not left:
                    raise
                self.stop(left[0], "no person was connected, and another session needed the place")
                await self.end_of(left[0])

    async def _run(self, session: str, live: LiveSession) -> None:
        reason = "an error in the server"
        try:
            reason = await live.run()
        except Exception:
            log.exception("session %s", session)
        ledger = await live.end(reason)
        del self._live[session], self._tasks[session], self._beginners[session]
        self._guest_sessions.discard(session)
        if not ledger.is_settled:
            self._late = {each for each in self._late if not each.is_settled} | {ledger}

    async def close(self, reason: str = "the server was shut down") -> None:
        """Ends all episodes as abandoned; returns when everything is on the disk."""
        self._is_closed = True
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        for session in self.sessions:
            self.stop(session, reason)
        await asyncio.gather(*self._tasks.values())
        missed = sum(await asyncio.gather(*(each.close(LATE_SECONDS) for each in self._late)))
        if missed:
            log.error("the host did not store %d notes; the recordings have them", missed)
