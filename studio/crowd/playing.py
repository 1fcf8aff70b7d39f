"""Where the crowd meets the game: who enters, what is counted, and what it was worth when it is over."""

import asyncio
import contextlib
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import Reward, Treatment, Work, completion
from rlds_kit.crowd.tasks import Person, RefusedError, Stage, flow
from rlds_kit.studio.accounts.anonymous import agent_id
from rlds_kit.studio.accounts.play_token import play_token
from rlds_kit.studio.accounts.signing import Signer
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.games import Game
from rlds_kit.studio.crowd.host import CrowdHost
from rlds_kit.studio.crowd.presence import READING_SECONDS, Presence
from rlds_kit.studio.database import sessions, users
from rlds_kit.studio.database.crowds import Visit
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.sessions import Seated, Session
from rlds_kit.studio.play.live_sessions import LiveSessions

with needs("studio"):
    from sqlalchemy import Connection

FRESH_SECONDS: Final = 2.0
"""For which what was counted from a recording is shown while a participant plays."""

_DONE: Final = "its person was done"


@dataclass(eq=False)
class Playing:
    """The games of a crowd while they are played.

    Args:
      desk: of the crowd.
      host: that plays them.
      live: all sessions that are played.
      database: of the studio.
      signer: of the studio.
      anonymous: key of ids in published data.
      server: name of the studio.
      recordings: directory of all recordings.
      presence: who is here.
    """

    desk: Desk
    host: CrowdHost
    live: LiveSessions
    database: Database
    signer: Signer
    anonymous: bytes
    server: str
    recordings: Path
    presence: Presence
    _counted: dict[str, tuple[float, Mapping[str, float]]] = field(default_factory=dict)
    _opening: asyncio.Lock = field(default_factory=asyncio.Lock)

    async def enter(self, visit: Visit) -> tuple[Session, str]:
        """The session in which a participant plays, and their token; a new one, if the one before is over.

        Raises:
          ApiError: they do not play now.
        """
        async with self._opening:  # two of a pair come back at once
            visit, game = self._require_playing(visit)
            found = None if visit.session_id is None else await self.database.run(sessions.get, visit.session_id)
            if found is None or found.ended_ns is not None or found.server != self.server:
                found = await self._open(visit, game, found)
        seat = next((seat for seat, each in found.people.items() if each.user_id == visit.user_id), None)
        if seat is None:
            raise ApiError(409, "stage", "your game goes on without you; go on with what you did so far")
        return found, play_token(self.signer, found, seat)

    def _require_playing(self, visit: Visit) -> tuple[Visit, Game]:
        visit = self.desk[visit.person.id]
        game = self.desk.game_of(visit)
        if visit.person.stage is not Stage.PLAY or game is None:
            raise ApiError(409, "stage", f"expected a participant who plays, got one at {visit.person.stage.value}")
        return visit, game

    async def _open(self, visit: Visit, game: Game, before: Session | None) -> Session:
        """Another session of a game, in the environment of the one before, also if the task has another one now."""
        place = visit.person.place
        players = () if place is None else self.desk.players(place.game)
        if before is None:
            seats = {game.seats[each.person.place.seat]: each for each in players if each.person.place is not None}
        else:
            seat_of = {each.user_id: seat for seat, each in before.people.items()}
            seats = {seat_of[each.user_id]: each for each in players if each.user_id in seat_of}
        environment = game.environment.id if before is None else before.environment_id
        made = await self.database.run(_add, game.study, environment, seats, self.anonymous, self.server)
        await self.desk.moved(seats.values(), made.id)
        return made

    async def values(self, visit: Visit) -> dict[str, float]:
        """What a participant's play counts so far, by collector; nothing where they have no game."""
        game = self.desk.game_of(visit)
        if game is None or visit.session_id is None:
            return {}
        names = tuple(dict.fromkeys((*game.task.collectors, *self.desk.treatment_of(visit).collectors)))
        live = self.host.live_values(visit.session_id, visit.person.id)
        missing = [each for each in names if each not in live]
        recorded = await self._recorded(visit, game, missing) if missing else {}
        return {name: live[name] if name in live else recorded.get(name, 0.0) for name in names}

    async def _recorded(self, visit: Visit, game: Game, names: list[str]) -> Mapping[str, float]:
        """What the recording has, of some seconds ago at most."""
        person = visit.person.id
        when, found = self._counted.get(person, (0.0, {}))
        if time.monotonic() - when > FRESH_SECONDS or not {*names} <= found.keys():
            directory = await self._directory(visit)
            found = await asyncio.to_thread(worth.values, directory, person, names, game.fps)
            self._counted[person] = time.monotonic(), found
        return found

    async def _directory(self, visit: Visit) -> Path:
        session = await self.database.run(sessions.get, visit.session_id or "")
        return self.recordings / session.directory

    async def finish(self, visit: Visit, *, is_early: bool, reason: str = "") -> Visit:
        """A participant's game is over: the recording says what it was worth.

        Args:
          visit: of the person.
          is_early: whether they know that not all is done.
          reason: why the study ended it; "": they ended it themselves.

        Raises:
          ApiError: they do not play, or not all is done.
        """
        visit, game = self._require_playing(visit)
        is_checked = bool(self.desk.treatment_of(visit).requirements) and not is_early
        if is_checked:
            _require_all(await self._completion(visit))
        await self._leave(visit, game)
        cut = replace(visit, person=replace(visit.person, reason=reason))
        earned = await self.earned(cut, game)
        if is_checked:
            _require_all(earned.completion)  # the page may be ahead of the recording, which must not cost a code
        quality = await self.quality(visit, game)
        self._counted.pop(visit.person.id, None)
        now = self.desk.now()

        def step(person: Person) -> Person:
            return flow.finish(self.desk.crowd, flow.progress(person, earned.completion, quality), now, reason)

        done = await self.desk.change(visit.person.id, step, earned=earned)
        self.live.dismiss(visit.session_id or "", visit.user_id)  # who came in again meanwhile
        return done

    async def _leave(self, visit: Visit, game: Game) -> None:
        """Ends what a participant plays; where others play, too, it goes on, and what there is is on the disk."""
        if visit.session_id is None:
            return
        if game.is_alone:
            self.live.stop(visit.session_id, _DONE)
            await self.live.end_of(visit.session_id)
            await self.database.run(sessions.end, visit.session_id, _DONE)
        else:
            self.live.dismiss(visit.session_id, visit.user_id)
            await self.live.sync(visit.session_id)

    async def _completion(self, visit: Visit) -> float:
        """How much is done, as far as is known while they play; without requirements, anything is all."""
        found = await self.values(visit)
        requirements = self.desk.treatment_of(visit).requirements
        return completion(requirements, found) if requirements else float(any(found.values()))

    async def earned(self, visit: Visit, game: Game) -> Reward:
        """What the recordings of an assignment are worth."""
        if visit.session_id is None:
            return Reward(0.0, 0, 0, 0)
        work = work_of(visit.person, "", self.desk.treatment_of(visit))
        directory = await self._directory(visit)
        (entry,) = await asyncio.to_thread(worth.entries, directory, [work], game.fps)
        return entry.reward

    async def quality(self, visit: Visit, game: Game) -> float:
        """The quality of what is recorded of an assignment, from 0 to 1, as its task declares it."""
        wanted = game.task.quality
        if wanted is None:
            return 1.0
        if visit.session_id is None:
            return 0.0
        directory = await self._directory(visit)
        counted = await asyncio.to_thread(worth.values, directory, visit.person.id, [wanted.collector], game.fps)
        return wanted.progress(counted)

    async def lags(self, visit: Visit) -> list[int]:
        """The lag of each key that a participant pressed, in steps; see `crowd.collectors.Lags`."""
        if visit.session_id is None:
            return []
        return await asyncio.to_thread(worth.lags, await self._directory(visit), visit.person.id)

    async def sweep(self) -> None:
        """Notes who left without a word; their seats are free, or a program's."""
        for visit in self.desk:
            if not visit.person.stage.is_over and self._is_away(visit.person):
                await self._drop(visit)

    def _is_away(self, person: Person) -> bool:
        grace = self.desk.crowd.grace_seconds
        is_waited_for = person.stage in {Stage.LOBBY, Stage.PLAY}
        return self.presence.away(person.id) > (grace if is_waited_for else max(grace, READING_SECONDS))

    async def _drop(self, visit: Visit) -> None:
        """Notes that a participant left a game, and its value, which is theirs also if they come back too late."""
        before, now = visit.person, self.desk.now()
        more: dict[str, Any] = {}
        quality = before.quality
        if before.stage is Stage.PLAY:
            await self.live.sync(visit.session_id or "")
            _, game = self._require_playing(visit)
            more["earned"], quality = await self.earned(visit, game), await self.quality(visit, game)

        def step(person: Person) -> Person:
            if person.stage is not before.stage or not self._is_away(person):
                raise RefusedError("they came back while this was counted")
            return flow.drop(flow.progress(person, more["earned"].completion, quality) if more else person, now)

        with contextlib.suppress(RefusedError):
            await self.desk.change(before.id, step, **more)


def _require_all(done: float) -> None:
    if done < 1:
        message = f"{int(done * 100)} % of the task is done; who ends now gets no pay for it"
        raise ApiError(409, "incomplete", message)


def _add(
    connection: "Connection", study: str, environment: str, seats: Mapping[str, Visit], anonymous: bytes, server: str
) -> Session:
    people: dict[str, Any] = {}
    for seat, each in seats.items():
        agent = agent_id(anonymous, study, users.get(connection, each.user_id).person)
        people[seat] = Seated(each.user_id, agent)
    first, *_ = people.values()
    return sessions.add(connection, study, environment, first.user_id, first.agent_id, server, people)


def work_of(person: Person, participant: str, treatment: Treatment) -> Work:
    """What a person did in a game, for the ledger; `participant`: as a platform knows them."""
    return Work(person.id, participant, treatment, is_test=person.is_test, is_cut_short=person.is_cut_short)
