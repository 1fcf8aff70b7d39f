"""The rows of all people, with the sums and the free seats that follow from them.

Sums are updated with each row, so that thousands of arrivals cost little; `Book.of` counts them again from the rows.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from typing import Final

from rlds_kit.crowd.tasks.person import Person, Stage

_UNIT: Final = 1_000_000
"""Completion is summed in millionths: sums of integers do not depend on the order."""


class Book:
    """The rows of all people.

    >>> from rlds_kit.crowd.tasks.person import Place
    >>> book = Book()
    >>> book.put(Person("7f3a", "main", "social", "", Stage.LOBBY, 0, 0, Place("pair", "g1", 0)))
    >>> book.load("pair"), book.waiting("pair", 2)
    (1.0, ('g1', (1,)))
    """

    def __init__(self) -> None:
        self._people: dict[str, Person] = {}
        self._done: Counter[tuple[str, bool]] = Counter()
        self._active: Counter[str] = Counter()
        self._games: defaultdict[str, dict[int, Person]] = defaultdict(dict)
        self._open: defaultdict[tuple[str, bool], dict[str, float]] = defaultdict(dict)
        self._by_key: defaultdict[str, list[str]] = defaultdict(list)

    @classmethod
    def of(cls, people: Iterable[Person]) -> "Book":
        """A book of these rows."""
        book = cls()
        for each in sorted(people, key=lambda one: (one.arrived, one.id)):
            book.put(each)
        return book

    def __iter__(self) -> Iterator[Person]:
        return iter(self._people.values())

    def __len__(self) -> int:
        return len(self._people)

    def __getitem__(self, person: str) -> Person:
        return self._people[person]

    def __contains__(self, person: object) -> bool:
        return person in self._people

    def get(self, person: str) -> Person | None:
        """A person's row; None if there is none."""
        return self._people.get(person)

    def put(self, person: Person) -> None:
        """Adds a row, or puts it in the place of that person's previous one.

        Raises:
          ValueError: another participant has the seat; nothing has changed.
        """
        self._require_seat(person)
        before = self._people.get(person.id)
        if before is not None:
            self._count(before, -1)
        elif person.key:
            self._by_key[person.key].append(person.id)
        self._people[person.id] = person
        self._count(person, 1)

    def of_key(self, key: str) -> tuple[Person, ...]:
        """The rows of a person by the hash of the platform's id, in order of arrival."""
        return tuple(self._people[each] for each in self._by_key.get(key, ()))

    def load(self, task: str, *, is_weighted: bool = False) -> float:
        """Assignments of a task: active ones, and completed ones, which count as far as they went."""
        return self._active[task] + self.completed(task, is_weighted=is_weighted)

    def completed(self, task: str, *, is_weighted: bool = False) -> float:
        """Completed assignments: one of which 0.4 were done counts 0.4, and less if its quality is to count."""
        return self._done[task, is_weighted] / _UNIT

    def active(self, task: str) -> int:
        """Assignments that are under way."""
        return self._active[task]

    def waiting(self, task: str, seats: int, *, is_test: bool = False) -> tuple[str, tuple[int, ...]] | None:
        """The game that waited longest for people, and its free seats; None if none waits."""
        for game in sorted(self._open[task, is_test], key=self._open[task, is_test].__getitem__):
            free = tuple(seat for seat in range(seats) if seat not in self._games[game])
            if free:
                return game, free
        return None

    def players(self, game: str) -> tuple[Person, ...]:
        """Who sits in a game, by seat."""
        return tuple(person for _, person in sorted(self._games.get(game, {}).items()))

    def _require_seat(self, person: Person) -> None:
        place = person.place
        other = None if place is None or not person.is_active else self._games.get(place.game, {}).get(place.seat)
        if other is not None and other.id != person.id:
            raise ValueError(f"expected a seat that is free, got {place}, which {other.id} has; assign another")

    def _count(self, person: Person, sign: int) -> None:
        place = person.place
        if place is None:
            return
        if not person.is_test:
            if person.is_active:
                self._active[place.task] += sign
            elif person.stage is not Stage.SENT_AWAY:
                self._done[place.task, False] += sign * round(person.completion * _UNIT)
                self._done[place.task, True] += sign * round(person.completion * person.quality * _UNIT)
        if not person.is_active:
            return
        players = self._games[place.game]
        if sign > 0:
            players[place.seat] = person
        else:
            players.pop(place.seat, None)
        waiting = self._open[place.task, person.is_test]
        if players and all(each.stage is Stage.LOBBY for each in players.values()):
            waiting[place.game] = min(each.changed for each in players.values())
        else:
            waiting.pop(place.game, None)
        if not players:
            del self._games[place.game]
