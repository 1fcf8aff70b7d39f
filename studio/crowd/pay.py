"""What people of a crowd are owed: counted from the recordings, with the prizes of raffles."""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import Reward, Work, tickets_of, unpaid
from rlds_kit.crowd.incentives.ledger import Entry
from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.games import Game
from rlds_kit.studio.crowd.playing import Playing, work_of
from rlds_kit.studio.database import crowds, raffles, sessions

with needs("studio"):
    from sqlalchemy import Connection


@dataclass(frozen=True)
class Pay:
    """The pay of a crowd.

    Args:
      playing: the games of the crowd.
    """

    playing: Playing

    async def ledger(self) -> list[Entry]:
        """All assignments, counted from the recordings now; who won a prize has it, whether it was paid or not."""
        desk, database = self.playing.desk, self.playing.database
        wanted = works(desk, await database.run(crowds.participants, desk.row.id))
        places = await database.run(_directories, [desk[each].session_id or "" for each in wanted])
        by_place: defaultdict[tuple[Path, float], list[str]] = defaultdict(list)
        for assignment, (_, game) in wanted.items():
            directory = self.playing.recordings / places[desk[assignment].session_id or ""]
            by_place[directory, game.fps].append(assignment)
        found: dict[str, Entry] = {}
        for (directory, fps), names in by_place.items():
            counted = await asyncio.to_thread(worth.entries, directory, [wanted[each][0] for each in names], fps)
            found |= {each.work.assignment: each for each in counted}
        drawn = await database.run(raffles.raffles, desk.row.id)
        prizes = {winner: each.prize_cents for each in drawn for winner in each.winners}
        return [replace(found[each], prize_cents=prizes.get(each, 0)) for each in wanted]

    async def due(self) -> tuple[Entry, ...]:
        """The entries of those whose way is over, with what was not noted as paid."""
        over = [each for each in await self.ledger() if self._visit(each).person.stage.is_over]
        return unpaid(map(self._open, over), ())

    async def tickets(self) -> dict[str, int]:
        """The tickets of those whose way is over, and which were in no raffle."""
        drawn = await self.playing.database.run(raffles.raffles, self.playing.desk.row.id)
        before = {assignment for each in drawn for assignment in each.tickets}
        over = [each for each in await self.ledger() if self._visit(each).person.stage.is_over]
        return tickets_of(each for each in over if each.work.assignment not in before)

    def _open(self, entry: Entry) -> Entry:
        """What is to be paid of it: a prize may be drawn after the rest was paid."""
        visit, reward = self._visit(entry), entry.reward
        if visit.paid_ns is not None:
            reward = Reward(reward.completion, 0, 0, reward.tickets)
        return replace(entry, reward=reward, prize_cents=entry.prize_cents if visit.prize_paid_ns is None else 0)

    def _visit(self, entry: Entry) -> crowds.Visit:
        return self.playing.desk[entry.work.assignment]


def works(desk: Desk, participants: Mapping[str, tuple[str | None, dict[str, Any]]]) -> dict[str, tuple[Work, Game]]:
    """What people did who have a game, and which, by assignment; `participants` says how platforms know them."""
    found = {}
    for visit in desk:
        game = desk.game_of(visit)
        if game is not None and visit.session_id is not None:
            known = participants.get(visit.person.id, (None, {}))[0] or ""
            found[visit.person.id] = work_of(visit.person, known, desk.treatment_of(visit)), game
    return found


def _directories(connection: "Connection", wanted: Sequence[str]) -> dict[str, str]:
    """Where sessions are recorded."""
    return {each: sessions.get(connection, each).directory for each in dict.fromkeys(wanted)}
