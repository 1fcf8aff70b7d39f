"""Connects playing to the database: who is admitted, what is played, and a row for each episode."""

import contextlib
import logging
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.anonymous import episode_id as public_id_of
from rlds_kit.studio.accounts.signing import BadTokenError, Signer
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.database import episodes, participations, sessions, studies, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.errors import DatabaseError, NotFoundError, StaleError
from rlds_kit.studio.database.participations import Participation
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.studies import Study, StudyEnvironment
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.studio.play.attendance import Presence
from rlds_kit.studio.play.host import Admission, NotAdmittedError, NotNotedError, PlayedEpisode, Scene
from rlds_kit.studio.seats import Seats, rules_of
from rlds_kit.studio.settings import Settings
from rlds_kit.trials import Turn
from rlds_kit.trials.environments.playable import SEAT
from rlds_kit.trials.workers import requests

with needs("studio"):
    from sqlalchemy import Connection
    from sqlalchemy.exc import IntegrityError

log = logging.getLogger(__name__)
_ENDED: Final = "this session is over; open the study again to play on"


@dataclass(frozen=True, slots=True)
class _Played:
    """A session, and what is played in it."""

    session: Session
    study: Study
    environment: StudyEnvironment


@dataclass(eq=False)
class DatabaseHost:
    """The services of the studio that playing needs; see `play.host.Host`.

    If the database does not store a row, an error is raised, and `play.ledger` sends the row again. Until then the
    recording has the data, and a studio that is restarted finds it there.

    Args:
      settings: of the studio.
      database: of the studio.
      signer: of the studio.
      inspector: returns what a worker is to make.
      secret: that ids of published data are made with.
    """

    settings: Settings
    database: Database
    signer: Signer
    inspector: Inspector
    secret: bytes
    _played: dict[str, _Played] = field(default_factory=dict)

    async def admit(self, token: str) -> Admission:
        """Admits the owner of the token of a session: to play from a seat, or to observe."""
        for kind in (Kind.PLAY, Kind.OBSERVE):
            try:
                text = self.signer.read(kind, token)
                session = await self.database.run(sessions.get, text.split(" ")[0])
                holder, account, seat = _bearer(kind, text, session)
                user = await self.database.run(users.get, account)
            except BadTokenError:
                continue
            except (NotFoundError, DatabaseError) as error:
                raise NotAdmittedError("session", str(error)) from error
            self._require_open(session)
            if seat is None and session.id not in self._played:
                raise NotAdmittedError("empty", "this session is not played now; try again when it is")
            return Admission(session.id, holder, seat, account, user.is_guest)
        raise NotAdmittedError("token", "this is no token of a session of this studio; open the study again")

    async def scene(self, session: str) -> Scene:
        """What is played in a session, by the current version of its study."""
        try:
            played = await self.database.run(_played, session)
            self._require_open(played.session)
            made = await self.inspector.spec_of(played.environment)
        except (NotFoundError, DatabaseError, ApiError) as error:
            raise NotAdmittedError("session", str(error)) from error
        if not self._is_open(played.study, played.session):
            raise NotAdmittedError("closed", "this study is not open now; ask who sent you the link")
        self._played[session] = played
        content, environment = played.study.content, played.environment
        directory = self.settings.recordings / played.session.directory
        if self.settings.policy is not None:
            made = replace(made, policies={SEAT: self.settings.policy})
        seats = Seats(played.environment.seats, played.session)
        about = {"name": f"{content.name}: {environment.name}", "description": content.description}
        return Scene(
            open=requests.Open(
                made,
                str(directory),
                about,
                self.settings.are_pictures_recorded,
                are_observations_returned=bool(seats.actors),
            ),
            turn=Turn(environment.turn),
            fps=environment.fps,
            max_steps=environment.max_steps,
            metadata=_metadata(played),
            **seats.settings(),
            rules=rules_of(environment.together),
            shows_errors=played.study.owner_id == played.session.user_id,
            instructions="\n\n".join(text for text in (content.instructions, environment.instructions) if text),
        )

    async def begun(self, session: str, number: int, episode_id: str, seed: int | None) -> None:
        """Writes the row of an episode."""
        del seed  # the recording has it
        await self._note(self._beginning(session, number, episode_id))

    async def present(self, session: str, presence: Presence) -> None:
        """Stores that a person or a program took a seat, or left it."""
        await self._note(partial(participations.write, participation=_participation(session, presence)))

    async def finished(self, episode: PlayedEpisode) -> None:
        """Completes the row of an episode."""
        begin = self._beginning(episode.session, episode.number, episode.episode_id)

        def write(connection: Connection) -> None:
            begin(connection)  # if that could not be written at its start
            total = sum(episode.totals.values())
            with contextlib.suppress(StaleError):  # an earlier call stored it, but its reply was lost
                episodes.finish(connection, episode.episode_id, episode.status, episode.reason, episode.steps, total)

        await self._note(write)

    async def ended(self, session: str, reason: str) -> None:
        """Ends a session."""
        await self.database.run(sessions.end, session, reason)
        log.info("session %s ended: %s", session, reason)
        self._played.pop(session, None)

    @property
    def unfinished(self) -> frozenset[str]:
        """Sessions that are being played, or of which something is not stored yet."""
        return frozenset(self._played)

    async def _note(self, work: Callable[[Connection], None]) -> None:
        """Writes; a contradiction to stored rows is not tried again, because it would never succeed."""
        try:
            await self.database.run(work)
        except IntegrityError as error:
            raise NotNotedError(str(error.orig)) from error

    def _beginning(self, session: str, number: int, episode_id: str) -> Callable[[Connection], None]:
        played = self._played[session]
        public = public_id_of(self.secret, played.study.id, session, number)

        def write(connection: Connection) -> None:
            if not episodes.exists(connection, episode_id):
                study, visit = played.study, played.session
                episodes.begin(connection, episode_id, public, number, visit, study.version, visit.directory)

        return write

    def _is_open(self, study: Study, session: Session) -> bool:
        """Whether a session may be played now."""
        return study.is_enabled or study.owner_id == session.user_id

    def _require_open(self, session: Session) -> None:
        if session.ended_ns is not None:
            raise NotAdmittedError("ended", _ENDED)
        if session.server != self.settings.name:
            raise NotAdmittedError("server", f"this session is played on the server {session.server}")


def _played(connection: Connection, session: str) -> _Played:
    found = sessions.get(connection, session)
    environment = studies.environment(connection, found.environment_id)
    return _Played(found, studies.get(connection, found.study_id), environment)


def _bearer(kind: Kind, text: str, session: Session) -> tuple[str, str, str | None]:
    """Reads a token: the person's id in recordings, their account, and the seat; None: to observe.

    Tokens to play have the text "session" where there is one seat, else "session seat account"; tokens to observe have
    "session agent account".

    Raises:
      BadTokenError: the seat is not this account's.
    """
    _, *rest = text.split(" ")
    if kind is Kind.OBSERVE:
        agent, account = rest
        return agent, account, None
    if not rest:
        return session.agent_id, session.user_id, next(iter(session.people), SEAT)
    seat, account = " ".join(rest[:-1]), rest[-1]  # an agent's name may have spaces
    seated = session.people.get(seat)
    if seated is None or seated.user_id != account:
        raise BadTokenError(f"there is no seat {seat!r} of this person in the session")
    return seated.agent_id, account, seat


def _participation(session: str, presence: Presence) -> Participation:
    return Participation(
        id=presence.id,
        session_id=session,
        seat=presence.seat,
        user_id=presence.account,
        agent_id=presence.who,
        kind=participations.HUMAN if presence.is_human else participations.PROGRAM,
        version=presence.version,
        joined_ns=presence.joined_ns,
        left_ns=presence.left_ns,
    )


def _metadata(played: _Played) -> dict[str, object]:
    """The metadata that is recorded with every episode; it names people by their anonymous ids."""
    return {
        "study": played.study.id,
        "study_name": played.study.content.name,
        "study_version": played.study.version,
        "environment": played.environment.id,
        "environment_name": played.environment.name,
        "agent_id": played.session.agent_id,
    }
