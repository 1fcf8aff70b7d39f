"""Plays the games of a crowd: episodes name the assignments of their seats, and are counted while they are played."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from rlds_kit.crowd.incentives import CROWD
from rlds_kit.crowd.tasks import Stage
from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.counting import Counting
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.presence import Presence
from rlds_kit.studio.database import sessions
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.studies import Study
from rlds_kit.studio.hosting import DatabaseHost
from rlds_kit.studio.play.attendance import Presence as Attended
from rlds_kit.studio.play.host import Admission, NotAdmittedError, Scene


@dataclass(eq=False)
class CrowdHost(DatabaseHost):
    """A host that plays games of a crowd, and everything else as any studio does.

    Args:
      desk: of the crowd.
      presence: who is here.
    """

    desk: Desk = field(kw_only=True)
    presence: Presence = field(kw_only=True)
    _counts: dict[str, Counting] = field(default_factory=dict)
    _seats: dict[str, dict[str, str]] = field(default_factory=dict)

    async def admit(self, token: str) -> Admission:
        """Admits the owner of a token; of a crowd only while they play, and it does not pause."""
        found = await super().admit(token)
        visit = None if found.account is None or found.seat is None else self.desk.of_user(found.account)
        if visit is not None:
            self.desk.require_running()
        if visit is not None and visit.person.stage is not Stage.PLAY:
            raise NotAdmittedError("stage", "your game is over; load the page again")
        return found

    async def scene(self, session: str) -> Scene:
        """What is played in a session; of a crowd with its assignments, and a fixed pace."""
        found = await super().scene(session)
        visits = self.desk.of_session(session)
        if not visits:
            return found
        self.desk.require_running()
        row = await self.database.run(sessions.get, session)
        seat_of = {each.user_id: seat for seat, each in row.people.items()}
        seats = {seat_of[each.user_id]: each for each in visits if each.user_id in seat_of}
        game = self.desk.game_of(visits[0])
        if game is None:
            return found
        names = {
            seat: tuple(dict.fromkeys((*game.task.collectors, *self.desk.treatment_of(each).collectors)))
            for seat, each in seats.items()
        }
        directory, rate = self.settings.recordings / row.directory, found.fps or game.fps
        assignments = {seat: each.person.id for seat, each in seats.items()}
        counter = await asyncio.to_thread(worth.resumed, directory, assignments, names, rate)
        counting = self._counts[session] = Counting(counter.values)
        self._seats[session] = {assignment: seat for seat, assignment in assignments.items()}
        metadata = {
            **found.metadata,
            CROWD: assignments,
            "crowd_task": game.task.name,
            "crowd_version": self.desk.version,  # of what the crowd declares
            "crowd_recruitment": {seat: each.person.kind for seat, each in seats.items()},  # such as "test"
        }
        return replace(
            found,
            open=replace(found.open, counter=counter),
            metadata=metadata,
            watch=counting,
            is_rate_fixed=True,
            is_ahead=game.task.is_ahead,
            shows_errors=False,
        )

    def live_values(self, session: str, person: str) -> Mapping[str, float]:
        """Live counts of a person in a session; empty if it is not played, or is counted from its recording."""
        counting, seat = self._counts.get(session), self._seats.get(session, {}).get(person)
        return {} if counting is None or seat is None else counting.values.get(seat, {})

    async def present(self, session: str, presence: Attended) -> None:
        """Writes that a participant came to a seat, or left it."""
        await super().present(session, presence)
        visit = None if presence.account is None else self.desk.of_user(presence.account)
        if visit is not None:
            self.presence.connected(visit.person.id, presence.id, is_there=presence.left_ns is None)

    async def ended(self, session: str, reason: str) -> None:
        """Ends a session."""
        await super().ended(session, reason)
        self._counts.pop(session, None)
        self._seats.pop(session, None)

    def _is_open(self, study: Study, session: Session) -> bool:
        return bool(self.desk.of_session(session.id)) or super()._is_open(study, session)
