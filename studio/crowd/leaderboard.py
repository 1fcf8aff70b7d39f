"""Where people stand among all who played the same task, counted from the recordings."""

import asyncio
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Final

from rlds_kit.crowd.collectors import collector
from rlds_kit.crowd.scores import standing
from rlds_kit.crowd.tasks import Person, Stage
from rlds_kit.studio.crowd import worth
from rlds_kit.studio.crowd.desk import Desk
from rlds_kit.studio.crowd.games import Game
from rlds_kit.studio.database.crowds import Visit

FRESH_SECONDS: Final = 5.0
"""Between two counts of what others have played; one's own play is counted at once."""
Episodes = list[dict[str, float]]


class Leaderboard:
    """Standings of a crowd, of those whose game is over. Test users see where they stand, and take no rank from others.

    What a participant played is counted once, when their game is over, not with each request of standings.

    Args:
      desk: of the crowd.
      recordings: directory of all recordings.
      now: seconds of a clock that does not go back.
    """

    def __init__(self, desk: Desk, recordings: Path, now: Callable[[], float] = time.monotonic) -> None:
        self._desk, self._recordings, self._now = desk, recordings, now
        self._counted: defaultdict[tuple[str, ...], dict[str, tuple[float, Episodes]]] = defaultdict(dict)
        self._latest: dict[tuple[str, ...], float] = {}
        self._one_at_a_time = asyncio.Lock()

    async def of(self, visit: Visit) -> list[dict[str, Any]]:
        """Where a participant stands, by collector of their task, as JSON; nothing before their game is over."""
        game = self._desk.game_of(visit)
        if game is None or not _is_over(visit.person):
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

    def _standing(self, name: str, mine: Episodes, others: list[Episodes]) -> dict[str, Any]:
        of = collector(name)
        totals = [_total([each[name] for each in episodes], is_fraction=of.is_fraction) for episodes in others]
        own = [each[name] for each in mine]
        found = standing([_total(own, is_fraction=True)] if of.is_fraction else own, totals)
        return {"name": name, "label": of.label, **asdict(found), "best": max(own)}

    async def _of_task(self, game: Game, mine: str) -> Mapping[str, Episodes]:
        """The episodes of all who have played a task to the end, of some seconds ago at most."""
        names = self._names(game)
        key = (game.environment.id, *names)
        async with self._one_at_a_time:
            known, now = self._counted[key], self._now()
            versions = {each.id: each.changed for each in self._people(game)}
            new = [who for who, version in versions.items() if known.get(who, (None,))[0] != version]
            is_due = now - self._latest.get(key, float("-inf")) >= FRESH_SECONDS
            wanted = [who for who in new if is_due or who == mine]
            if wanted:
                directory = self._recordings / game.study / game.environment.id
                found = await asyncio.to_thread(worth.by_episode, directory, wanted, names, game.fps)
                known.update({who: (versions[who], found.get(who, [])) for who in wanted})
            if is_due:
                self._latest[key] = now
            return {who: known[who][1] for who in versions if who in known and known[who][1]}

    def _people(self, game: Game) -> Iterator[Person]:
        for each in self._desk:
            place = each.person.place
            if place is not None and place.task == game.task.name and _is_over(each.person):
                yield each.person


def _is_over(person: Person) -> bool:
    """Whether a participant's game is over, or they left it."""
    over = {Stage.AFTER, Stage.DONE}
    return person.stage in over or (person.stage is Stage.DROPPED and person.left in {Stage.PLAY, *over})


def _total(values: list[float], *, is_fraction: bool) -> float:
    """Of several episodes: the sum, or the mean of fractions."""
    return sum(values) / len(values) if is_fraction and values else sum(values)
