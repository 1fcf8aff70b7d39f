"""Where the people of a crowd are: a row is in the database before anybody is answered."""

import asyncio
import dataclasses
import hmac
import random
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import Terms, Treatment
from rlds_kit.crowd.table import participant
from rlds_kit.crowd.tasks import (
    Crowd,
    Person,
    Place,
    RefusedError,
    Source,
    Stage,
    code_hash,
    code_of,
    flow,
    is_full,
    source_of,
)
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.login import Login
from rlds_kit.studio.crowd.games import Game, GameError, store_games
from rlds_kit.studio.crowd.missing import missing
from rlds_kit.studio.crowd.visits import Visits
from rlds_kit.studio.database import crowds, tables, users
from rlds_kit.studio.database.crowds import CrowdRow, Visit
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.declarations import Declaration
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.studies import StudyEnvironment
from rlds_kit.studio.play.host import NotAdmittedError

with needs("studio"):
    from sqlalchemy import Connection

ELSEWHERE: Final = (
    "You began this study in another browser; go on there. If you cannot, write to the people who sent you the link: "
    "they can give you one of your own."
)
CLOSED: Final = "This study takes no new participants now."
PAUSED: Final = "this study pauses; nothing is lost, wait until it goes on"
_PROOFS: Final = ("SESSION_ID", "assignmentId")
"""What a platform gives to one person for one participation: who brings it again is the same person."""


Sent = Callable[[Mapping[str, Any]], Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Arrival:
    """A participant came.

    Attributes:
      visit: where they are.
      login: of a browser that had none; None: it goes on with its own.
    """

    visit: Visit
    login: Login | None


class Desk(Visits):
    """The people of a crowd. Changes are made one after another.

    Args:
      crowd: the tasks.
      row: of the crowd.
      games: what the tasks are here, by name.
      database: of the studio.
      key: secret of the studio, for ids of people and for completion codes.
      known: the rows that there are.
      now: seconds since 1970.

    Attributes:
      crowd: the tasks.
      row: of the crowd, which says whether it is paused or closed.
      games: by name of the task.
      version: number of what is declared.
      is_of_file: whether that is what the file of the crowd declares.
    """

    def __init__(
        self,
        crowd: Crowd,
        row: CrowdRow,
        games: Mapping[str, Game],
        database: Database,
        key: bytes,
        known: Iterable[Visit],
        now: Callable[[], float] = time.time,
    ) -> None:
        super().__init__(known)
        self.crowd, self.row, self.games = crowd, row, games
        self.version, self.is_of_file = 1, True
        self._database, self._key, self.now = database, key, now
        self._one_at_a_time = asyncio.Lock()
        self._draw = random.SystemRandom().randrange

    def game_of(self, visit: Visit) -> Game | None:
        """What a participant was assigned to; None: nothing yet."""
        place = visit.person.place
        return None if place is None else self.games[place.task]

    def treatment_of(self, visit: Visit) -> Treatment:
        """How a participant who has a place is rewarded: as when their game began, whatever the task says now."""
        return visit.terms.treatment if visit.terms is not None else self.games[_place(visit).task].task.treatment

    def code(self, visit: Visit) -> str:
        """The completion code of a person."""
        return code_of(self._key, visit.person.id)

    async def open(self) -> None:
        """Gives a code to those who are done, and terms to those who play, where rows of an older library have none."""
        complete = [each if each.session_id is None else self._with_terms(each) for each in self]
        await self._store([each for each in complete if self._with_code(each) != self[each.person.id]])

    async def arrive(
        self, parameters: Mapping[str, str], group: str, account: Account | None, *, again: bool = False
    ) -> Arrival:
        """A participant opens the link, or loads it again.

        A browser that is logged in goes on where its person is. Any other begins, unless this id of a platform
        did before: only who brings the platform's id of that participation, too, is the same person.

        Args:
          parameters: of the link; none: of a browser that is logged in.
          group: of the link.
          account: that is logged in.
          again: whether a person who is done wants to play again.

        Raises:
          RecruitmentError: the link does not have what its platform appends.
          RefusedError: they may not take part, or not now.
        """
        own = None if account is None else self.of_user(account.id)
        is_known = own is not None and not parameters
        source = Source(own.person.kind, "", {}) if is_known and own else source_of(parameters, self.crowd.recruitment)
        async with self._one_at_a_time:
            own = None if account is None else self.of_user(account.id)
            if own is not None and self._is_of(own, source):
                return Arrival(await self._returned(own, source, group, again=again), None)
            return await self._came(source, group)

    def _is_of(self, visit: Visit, source: Source) -> bool:
        """Whether a link is that of a person: it has their id, or none, however it was sent."""
        return not source.person or self._hash(source.kind, source.person) == visit.person.key

    async def _returned(self, own: Visit, source: Source, group: str, *, again: bool) -> Visit:
        person = own.person
        if person.stage is Stage.DROPPED:
            back = dataclasses.replace(own, person=flow.come_back(self.crowd, self.book, person, self.now()))
            return (await self._store([back]))[0]
        was_full = person.stage is Stage.SENT_AWAY and person.reason == flow.FULL
        if (person.stage is Stage.DONE and again) or (was_full and self._may_have_room(group)):
            self._require_open(source)
            person = flow.arrive(self.crowd, self.book, source, group, person.key, tables.new_id(), self.now())
            return (await self._store([Visit(person, own.user_id)]))[0]
        return own

    def _may_have_room(self, group: str) -> bool:
        """Whether a group is not full; one that is not there is refused later, with the names of those that are."""
        return group not in self.crowd.groups or not is_full(self.crowd, self.book, group)

    async def _came(self, source: Source, group: str) -> Arrival:
        key = self._hash(source.kind, source.person) if source.person else ""
        earlier = [self[each.id] for each in self.book.of_key(key)] if key else []
        if earlier and earlier[-1].person.stage not in {Stage.DONE, Stage.SENT_AWAY}:
            return await self._recognised(earlier[-1], source, group)
        self._require_open(source)
        new = tables.new_id()
        person = flow.arrive(self.crowd, self.book, source, group, key, new, self.now())
        made = await self._database.run(_enter, self.row.id, person, source, self._hash)
        visit = Visit(made.person, made.login.account.id)
        self.remember(visit)
        return Arrival(visit, made.login)

    async def _recognised(self, earlier: Visit, source: Source, group: str) -> Arrival:
        """A participant comes back in a browser that is not logged in."""
        known = (await self._database.run(crowds.personal_of, earlier.user_id)).get("source", {})
        proof = next((name for name in _PROOFS if name in source.details), "")
        if not proof or not hmac.compare_digest(str(known.get(proof, "")).encode(), source.details[proof].encode()):
            raise RefusedError(ELSEWHERE)
        made = await self._database.run(login.link, earlier.user_id)
        return Arrival(await self._returned(earlier, source, group, again=False), made)

    def _require_open(self, source: Source) -> None:
        if self.row.is_closed and not source.is_test:
            raise RefusedError(CLOSED)

    async def change(
        self, person: str, step: Callable[[Person], Person], sent: Sent | None = None, **more: Any
    ) -> Visit:
        """A participant goes a step further.

        Args:
          person: who.
          step: of `flow`.
          sent: what they sent with it, as `note` takes it.
          **more: other fields of the `Visit`.

        Raises:
          RefusedError: it is not possible where they are.
        """
        async with self._one_at_a_time:
            visit = self[person]
            changed = dataclasses.replace(visit, person=step(visit.person), **more)
            return (await self._store([changed], sent))[0]

    async def note(self, person: str, sent: Sent) -> None:
        """A participant sent something that identifies them, or may: it stands apart from their row.

        Args:
          person: who.
          sent: from what they sent before to what they sent now.
        """
        async with self._one_at_a_time:
            await self._store([self[person]], sent)

    async def place(self, person: str, chosen: str | None) -> Visit:
        """A participant in the lobby gets an assignment, if they have none; who plays alone plays at once.

        Raises:
          RefusedError: they are elsewhere, or the task is not one of the cards.
        """
        async with self._one_at_a_time:
            visit = self[person]
            if visit.person.stage is not Stage.LOBBY or visit.person.place is None:
                new, now = tables.new_id(), self.now()
                placed = flow.place(self.crowd, self.book, visit.person, new, self._draw, now, chosen=chosen)
                visit = (await self._store([dataclasses.replace(visit, person=placed)]))[0]
            game = self.game_of(visit)
            if game is None or not game.is_alone or visit.person.place is None:
                return visit
            (started,) = flow.start(self.book, visit.person.place.game, self.now())
            return (await self._store([self._with_terms(dataclasses.replace(visit, person=started))]))[0]

    def require_running(self) -> None:
        """Lets games begin only while the crowd does not pause.

        Raises:
          NotAdmittedError: it pauses.
        """
        if self.row.is_paused:
            raise NotAdmittedError("paused", PAUSED)

    async def seat(self, session: Session) -> None:
        """A lobby has put people together, and counts down: they have the seats of a session.

        Raises:
          NotAdmittedError: one of them is not in the lobby any more, or the crowd pauses.
        """
        async with self._one_at_a_time:
            task = next((each for each in self.games.values() if each.environment.id == session.environment_id), None)
            if task is None and not any(self.of_user(each.user_id) for each in session.people.values()):
                return  # of a study that is no task
            if task is None:
                raise NotAdmittedError("changed", "this game has changed; wait again")
            self.require_running()
            moved = []
            for seat, each in session.people.items():
                visit = self.of_user(each.user_id)
                if visit is None or visit.person.stage is not Stage.LOBBY:
                    raise NotAdmittedError("stage", "one of those who wait is elsewhere now; wait again")
                place = Place(task.task.name, session.id, task.seats.index(seat))
                person = dataclasses.replace(visit.person, place=place)
                moved.append(dataclasses.replace(visit, person=person, session_id=session.id))
            await self._store(moved)

    async def begin(self, session: str) -> None:
        """The countdown is over: they play.

        Raises:
          NotAdmittedError: the crowd pauses.
        """
        async with self._one_at_a_time:
            there = [each for each in self.of_session(session) if each.person.stage is Stage.LOBBY]
            if there:
                self.require_running()
            started = {each.id: each for each in flow.start(self.book, session, self.now())}
            playing = [dataclasses.replace(each, person=started[each.person.id]) for each in there]
            await self._store(map(self._with_terms, playing))

    async def unseat(self, session: str) -> None:
        """A participant left before it began: the others wait again."""
        async with self._one_at_a_time:
            back = [each for each in self.of_session(session) if each.person.stage is Stage.LOBBY]
            await self._store(dataclasses.replace(each, session_id=None) for each in back)

    async def moved(self, visits: Iterable[Visit], session: str) -> None:
        """These people play in another session from now on: the one before is over."""
        async with self._one_at_a_time:
            await self._store(dataclasses.replace(self[each.person.id], session_id=session) for each in visits)

    async def set_state(self, *, is_paused: bool, is_closed: bool) -> None:
        """Pauses or closes the crowd, or not; a game whose beginning is being stored begins before the pause."""
        async with self._one_at_a_time:
            self.row = await self._database.run(crowds.set_state, self.row, is_paused=is_paused, is_closed=is_closed)

    async def declare(
        self, crowd: Crowd, made: Mapping[str, StudyEnvironment], write: Callable[[Connection], Declaration]
    ) -> Declaration:
        """From now on the crowd is this one.

        Args:
          crowd: the tasks.
          made: their environments, by name of the task.
          write: stores the version.

        Raises:
          GameError: people have what it lacks.
          StaleError: another person has saved a version.
        """
        async with self._one_at_a_time:
            problems = missing(crowd, self)
            if problems:
                raise GameError(crowd.name, problems)

            def store(connection: Connection) -> tuple[Declaration, dict[str, Game]]:
                return write(connection), store_games(connection, self.row.owner_id, crowd, made)

            saved, self.games = await self._database.run(store)
            self.crowd, self.version, self.is_of_file = crowd, saved.number, saved.user_id is None
            return saved

    async def redeem(self, code: str) -> Visit:
        """A participant gives a completion code for pay, which is good once.

        Raises:
          NotFoundError: no participant has it.
          TakenError: it was used before.
        """
        async with self._one_at_a_time:
            person = await self._database.run(crowds.redeem, self.row.id, code_hash(code))
            used = dataclasses.replace(self[person], code_used_ns=tables.now_ns())
            self.remember(used)
            return used

    async def paid(self, assignments: Iterable[str], prizes: Iterable[str] = ()) -> int:
        """Notes that people were paid; returns for how many this is new.

        Args:
          assignments: whose base pay and bonus were paid.
          prizes: whose prizes were.
        """
        async with self._one_at_a_time:
            now = tables.now_ns()
            due: dict[str, Visit] = {}
            for each in map(self.get, assignments):
                if each.paid_ns is None:
                    due[each.person.id] = dataclasses.replace(each, paid_ns=now)
            for each in map(self.get, prizes):
                if each.prize_paid_ns is None:
                    due[each.person.id] = dataclasses.replace(due.get(each.person.id, each), prize_paid_ns=now)
            return len(await self._store(due.values()))

    async def _store(self, changed: Iterable[Visit], sent: Sent | None = None) -> list[Visit]:
        """Writes rows, and then remembers them."""
        rows = [self._with_code(each) for each in changed]
        await self._database.run(_write, self.row.id, rows, sent)
        for each in rows:
            self.remember(each)
        return rows

    def _with_code(self, visit: Visit) -> Visit:
        """Who did all that was wanted gets a code at the end."""
        is_due = visit.person.stage is Stage.DONE and visit.earned.completion >= 1 and visit.code_hash is None
        return dataclasses.replace(visit, code_hash=code_hash(self.code(visit))) if is_due else visit

    def _with_terms(self, visit: Visit) -> Visit:
        """Who begins a task is paid by what it says now, also if they go on with it later."""
        place = visit.person.place
        if place is None or (visit.terms is not None and visit.terms.task == place.task):
            return visit
        terms = Terms(place.task, self.crowd.tasks[place.task].treatment, self.crowd.currency)
        return dataclasses.replace(visit, terms=terms)

    def _hash(self, kind: str, person: str) -> str:
        return participant(self._key, kind, person)


def _write(connection: Connection, crowd: str, rows: list[Visit], sent: Sent | None) -> None:
    crowds.write(connection, crowd, rows)
    for each in rows if sent is not None else ():
        crowds.note_personal(connection, each.user_id, **sent(crowds.personal_of(connection, each.user_id)))  # type: ignore[misc]  # it is not None here


@dataclass(frozen=True, slots=True)
class _Entered:
    person: Person
    login: Login


def _enter(
    connection: Connection, crowd: str, person: Person, source: Source, hashed: Callable[[str, str], str]
) -> _Entered:
    """The account and the row of a new participant; without an id of a platform, the account identifies them."""
    user = users.add(connection, Role.PARTICIPANT, "", participant=source.person or None, is_guest=True)
    if not person.key:
        person = dataclasses.replace(person, key=hashed(source.kind, user.id))
    crowds.note_personal(connection, user.id, source=dict(source.details))
    crowds.write(connection, crowd, [Visit(person, user.id)])
    return _Entered(person, login.link(connection, user.id))


def _place(visit: Visit) -> Place:
    if visit.person.place is None:
        raise ValueError(f"expected a participant who has a place, got one at {visit.person.stage.value}")
    return visit.person.place
