"""The rows of the people of a crowd, in memory."""

from collections.abc import Iterable, Iterator

from rlds_kit.crowd.tasks import Book, Person, Stage
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.database.crowds import Visit


class Visits:
    """The rows of the people of a crowd, by id; an account may have several, one for each time that it took part.

    Args:
      known: the rows that there are.

    Attributes:
      book: sums and free seats.
    """

    def __init__(self, known: Iterable[Visit]) -> None:
        self._visits = {each.person.id: each for each in known}
        self._latest = {each.user_id: each.person.id for each in self._visits.values()}
        self.book = Book.of(each.person for each in self._visits.values())

    def __iter__(self) -> Iterator[Visit]:
        return iter(list(self._visits.values()))

    def __getitem__(self, person: str) -> Visit:
        return self._visits[person]

    def get(self, person: str) -> Visit:
        """A person's row.

        Raises:
          ApiError: there is none.
        """
        if person not in self._visits:
            raise ApiError(404, "not_found", f"there is no person {person} in this crowd")
        return self._visits[person]

    def of_user(self, user: str) -> Visit | None:
        """The latest row of an account; None: it is not of this crowd."""
        found = self._latest.get(user)
        return None if found is None else self._visits[found]

    def of_session(self, session: str) -> tuple[Visit, ...]:
        """The rows of those who play, or played last, in a session."""
        return tuple(each for each in self._visits.values() if each.session_id == session)

    def players(self, game: str) -> tuple[Visit, ...]:
        """The rows of those who play a game, by seat; also of those who left it and may come back."""
        found = [
            each
            for each in self._visits.values()
            if each.person.place is not None
            and each.person.place.game == game
            and Stage.PLAY in {each.person.stage, each.person.left}
        ]
        return tuple(sorted(found, key=lambda each: _seat(each.person)))

    def remember(self, visit: Visit) -> None:
        """Puts a row that is in the database here, too."""
        self.book.put(visit.person)
        if visit.person.id not in self._visits:
            self._latest[visit.user_id] = visit.person.id
        self._visits[visit.person.id] = visit


def _seat(person: Person) -> int:
    return 0 if person.place is None else person.place.seat
