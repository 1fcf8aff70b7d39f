"""What people of a crowd have, and a changed declaration does not."""

from collections import Counter
from collections.abc import Iterable

from rlds_kit.crowd.tasks import Crowd
from rlds_kit.studio.database.crowds import Visit


def missing(crowd: Crowd, visits: Iterable[Visit]) -> list[str]:
    """What people have that a crowd has no longer: without it, what they are owed is unknown."""
    known = tuple(visits)
    people = [each.person for each in known]
    places = [each.place for each in people if each.place is not None]
    money = Counter(
        each.terms.currency for each in known if each.terms is not None and each.terms.currency != crowd.currency
    )
    tasks = Counter(each.task for each in places if each.task not in crowd.tasks)
    groups = Counter(each.group for each in people if each.group not in crowd.groups)
    seats = Counter(
        each.task for each in places if each.task in crowd.tasks and each.seat >= crowd.tasks[each.task].seats
    )
    return [
        *(f"tasks.{name}: expected it, {number} people have it; put it back" for name, number in tasks.items()),
        *(f"groups.{name}: expected it, {number} people have it; put it back" for name, number in groups.items()),
        *(f"tasks.{name}.seats: expected more, {number} people have others" for name, number in seats.items()),
        *(f"currency: expected {name!r}, {number} people were promised pay in it" for name, number in money.items()),
    ]
