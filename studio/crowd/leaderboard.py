"""Where people stand among all who played the same task, counted from the recordings."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rlds_kit.crowd.collectors import collector
from rlds_kit.crowd.scores import standing
from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.games import Game
from rlds_kit.studio.database.crowds import Visit

FRESH_SECONDS: Final = 30.0
"""For which what was counted of all people is used again."""
Counted = Mapping[str, list[dict[str, float]]]


class Leaderboard:
    """Standings of a crowd. Test users see where they stand, and stand in nobody's way.

    Args:
      desk: of the crowd.
      recordings: directory of all recordings.
      now: seconds of a clock that does not go back.
    """

    def __init__(self, desk: Desk, recordings: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._recordings, self._now = desk, recordings, now
        self._counted: dict[str, tuple[float, Counted]] = {}
        self._one_at_a_time = asyncio.Lock()

    async def of(self, visit: Visit) -> list[dict[str, Any]]:
        """Where somebody stands, by collector of their task, as JSON; nothing before they have played."""
        game = self._desk.game_of(visit)
        if game is None:
            return []
        counted = await self._of_task(game, visit.person.id)
        mine = counted.get(visit.person.id, [])
        others = [
            episodes
            for who, episodes in counted.items()
            if who != visit.person.id and not self._desk[who].person.is_test
        ]
        return [self._standing(name, mine, others) for name in self._names(game)] if mine else []

    def _names(self, game: Game) -> tuple[str, ...]:
        return tuple(dict.fromkeys((*game.task.collectors, *game.task.treatment.collectors)))

    def _standing(
        self, name: str, mine: list[dict[str, float]], others: list[list[dict[str, float]]]
    ) -> dict[str, Any]:
        of = collector(name)
        totals = [_total([each[name] for each in episodes], is_fraction=of.is_fraction) for episodes in others]
        own = [each[name] for each in mine]
        found = standing([_total(own, is_fraction=True)] if of.is_fraction else own, totals)
        return {"name": name, "label": of.label, **asdict(found), "best": max(own)}

    async def _of_task(self, game: Game, person: str) -> Counted:
        """What everybody counts in a task, of some seconds ago at most."""
        async with self._one_at_a_time:
            when, found = self._counted.get(game.task.name, (float("-inf"), {}))
            if self._now() - when > FRESH_SECONDS or person not in found:
                wanted = [each.person.id for each in self._desk if self._desk.game_of(each) == game]
                directory = self._recordings / game.study / game.environment.id
                found = await asyncio.to_thread(worth.by_episode, directory, wanted, self._names(game), game.fps)
                self._counted[game.task.name] = self._now(), found
            return found


def _total(values: list[float], *, is_fraction: bool) -> float:
    """Of several episodes: the sum, or the mean of fractions."""
    return sum(values) / len(values) if is_fraction and values else sum(values)
