"""Which task, game and seat a participant gets."""

from collections.abc import Callable, Sequence

from rlds_kit.crowd.tasks.book import Book
from rlds_kit.crowd.tasks.person import Person, Place
from rlds_kit.crowd.tasks.task import Crowd, Group, Mode, Task

Draw = Callable[[int], int]
"""Draws a number below another: `random.SystemRandom().randrange`, or that of a seeded generator."""


def assign(crowd: Crowd, book: Book, person: Person, game: str, draw: Draw, chosen: str | None = None) -> Place | None:
    """The place of a participant who has none.

    First a game of the group that waits for people, the one that waited longest. Else by the group's mode: the first
    task that has less than its target, or the one with the fewest assignments, where equal ones are drawn. Tasks that
    this person finished come last.

    Args:
      crowd: the tasks.
      book: the rows of all people.
      person: with a group.
      game: id of a game that is new if none waits.
      draw: random numbers.
      chosen: the task, in groups by choice.

    Returns:
      None if nothing is left: every task of the group has as many assignments as are wanted.

    Raises:
      ValueError: in a group by choice, the task is not one of its cards.
    """
    group = crowd.groups[person.group]
    tasks = [crowd.tasks[name] for name in group.tasks]
    if group.mode is Mode.CHOOSE:
        if chosen not in group.tasks:
            raise ValueError(f"expected one of the tasks {', '.join(group.tasks)}, got {chosen!r}")
        tasks = [crowd.tasks[chosen]]
    waiting = [(found, task) for task in tasks if (found := _waiting(book, task, person)) is not None]
    if waiting:
        (joined, free), task = min(waiting, key=lambda each: _since(book, each[0][0]))
        return Place(task.name, joined, free[0])
    wanted = [task for task in tasks if person.is_test or book.load(task.name) < _most(crowd, task)]
    if not wanted:
        return None
    return Place(_by_mode(book, group, wanted, _finished(book, person), draw).name, game, 0)


def _by_mode(book: Book, group: Group, wanted: Sequence[Task], finished: set[str], draw: Draw) -> Task:
    fresh = [task for task in wanted if task.name not in finished] or wanted
    if group.mode is Mode.QUOTA:
        below = [task for task in fresh if _load(book, group, task) < task.target]
        if below:
            return below[0]
    loads = [_load(book, group, task) for task in fresh]
    least = [task for task, load in zip(fresh, loads, strict=True) if load == min(loads)]
    return least[draw(len(least))]


def is_full(crowd: Crowd, book: Book, group: str) -> bool:
    """Whether every task of a group has as many assignments as are wanted, with those for drop-outs."""
    return all(book.load(name) >= _most(crowd, crowd.tasks[name]) for name in crowd.groups[group].tasks)


def _most(crowd: Crowd, task: Task) -> float:
    return task.target * (1 + crowd.over_recruit)


def _load(book: Book, group: Group, task: Task) -> float:
    return book.load(task.name, is_weighted=group.is_weighted)


def _waiting(book: Book, task: Task, person: Person) -> tuple[str, tuple[int, ...]] | None:
    return book.waiting(task.name, task.seats, is_test=person.is_test) if task.seats > 1 else None


def _since(book: Book, game: str) -> float:
    return min(each.changed for each in book.players(game))


def _finished(book: Book, person: Person) -> set[str]:
    """The tasks that the same person finished before."""
    earlier = book.of_key(person.key) if person.key else ()
    return {each.place.task for each in earlier if each.place is not None and each.completion >= 1}
