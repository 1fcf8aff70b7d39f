"""Makes the session of people who found each other: its environment is there before they enter."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Final, Protocol

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.play_token import play_token
from rlds_kit.studio.accounts.signing import Signer
from rlds_kit.studio.database import sessions, studies
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.errors import DatabaseError, NotFoundError
from rlds_kit.studio.database.seating import ALONE
from rlds_kit.studio.database.sessions import Seated, Session
from rlds_kit.studio.database.studies import StudyEnvironment
from rlds_kit.studio.lobby.lobby import Gather, Gathered, LobbyPlan, NoPlaceError, Person
from rlds_kit.studio.lobby.matchmaking import matchmaker
from rlds_kit.studio.lobby.messages import Matched
from rlds_kit.studio.play.host import NotAdmittedError
from rlds_kit.studio.play.live_sessions import LiveSessions

with needs("studio"):
    from sqlalchemy import Connection


_FULL: Final = "there are enough people, and all places are taken; your game begins when another one is over"
PAUSED: Final = "paused"
"""The refusal that is over when what is played goes on."""
WAIT_FOR: Final[Collection[str]] = frozenset({"full", "guests"})
"""Refusals that are over when others end their sessions."""


def plan_of(environment: StudyEnvironment) -> LobbyPlan:
    """The plan of an environment's lobby."""
    people = [each for each in environment.seats or ALONE if each.is_human]
    together = environment.together
    return LobbyPlan(
        seats=tuple(each.name for each in people),
        needed=frozenset(each.name for each in people if not each.actor and each.is_required),
        fill_seconds=together.fill_seconds,
        wait_seconds=together.wait_seconds,
        most_waiting=together.most_waiting,
        countdown_seconds=together.countdown_seconds,
        match=matchmaker(together.matchmaker, together.within_ms, together.longest_seconds),
    )


class Seating(Protocol):
    """Follows who sits where, before they play."""

    async def seat(self, session: Session) -> None:
        """People found each other.

        Raises:
          NotAdmittedError: they cannot play.
        """

    async def begin(self, session: str) -> None:
        """They play from now on.

        Raises:
          NotAdmittedError: they cannot play now.
        """

    async def unseat(self, session: str) -> None:
        """They do not play after all."""


@dataclass(frozen=True)
class SessionMaker:
    """Makes sessions of people.

    Args:
      database: of the studio.
      signer: of the studio.
      live: begins what is played.
      server: name of the studio.
      seating: follows who sits where; None: not followed.
    """

    database: Database
    signer: Signer
    live: LiveSessions
    server: str
    seating: Seating | None = None

    def of(self, environment: str) -> Gather:
        """What makes sessions of an environment."""

        async def gather(people: Mapping[str, Person]) -> Gathered:
            return await self._gather(environment, people)

        return gather

    async def _gather(self, environment: str, people: Mapping[str, Person]) -> Gathered:
        is_guest = any(each.is_guest for each in people.values())
        if not self.live.has_place(is_guest=is_guest):
            raise NoPlaceError(_FULL)
        try:
            session = await self.database.run(_open, environment, people, self.server)
        except (NotFoundError, DatabaseError) as error:
            raise NotAdmittedError("session", str(error)) from error
        first, *_ = people.values()
        made = _Made(self, session)
        try:
            if self.seating is not None:
                await self.seating.seat(session)
            await self.live.of(session.id, first.agent, is_guest=is_guest)
        except NotAdmittedError as error:
            await made.end(str(error))
            if error.code in WAIT_FOR:
                raise NoPlaceError(_FULL) from error
            if error.code == PAUSED:
                raise NoPlaceError(str(error)) from error
            raise
        return made


@dataclass(frozen=True)
class _Made:
    """A session whose environment is there."""

    maker: SessionMaker
    session: Session

    def token(self, seat: str) -> Matched:
        """For the person in a seat."""
        return Matched(self.session.id, play_token(self.maker.signer, self.session, seat), seat)

    async def begin(self) -> None:
        """The countdown is over."""
        if self.maker.seating is not None:
            await self.maker.seating.begin(self.session.id)

    async def cancel(self, reason: str) -> None:
        """Gives the environment back."""
        self.maker.live.stop(self.session.id, reason)
        await self.maker.live.end_of(self.session.id)
        await self.end(reason)

    async def end(self, reason: str) -> None:
        """Ends the row."""
        if self.maker.seating is not None:
            await self.maker.seating.unseat(self.session.id)
        await self.maker.database.run(sessions.end, self.session.id, reason)


def _open(connection: Connection, environment: str, people: Mapping[str, Person], server: str) -> Session:
    seated = {seat: Seated(each.account, each.agent) for seat, each in people.items()}
    first, *_ = people.values()
    study = studies.study_of(connection, environment)
    return sessions.add(connection, study, environment, first.account, first.agent, server, seated)
