"""Puts people who wait together."""

import importlib
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person who waits, for a matchmaker.

    Attributes:
      person: as recordings know them: the same one in all episodes of the study.
      seconds: how long they have waited.
      latency_ms: median round trip that was measured when they came; None: it was not.
      group: of the link by which they came; "": of none.
    """

    person: str
    seconds: float
    latency_ms: float | None = None
    group: str = ""


Matchmaker = Callable[[Sequence[Waiting], int], Iterable[Sequence[Waiting]]]
"""Called with all who wait, who came first is first, and with how many play together; returns groups of so many.

It is called when a person comes, and once a second, and has to return at once. When it is time for programs to take
empty seats, it is called with how many people play with them.
"""


def first_come(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
    """Groups in the order in which people came.

    >>> people = [Waiting(name, 1.0) for name in ("ann", "bob", "eve")]
    >>> [[each.person for each in group] for group in first_come(people, 2)]
    [['ann', 'bob']]
    """
    return [waiting[first : first + size] for first in range(0, len(waiting) - size + 1, size)]


def by_group(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
    """Groups of people who came by the same link, in the order in which they came.

    >>> people = [Waiting("ann", 3.0, group="a"), Waiting("bob", 2.0, group="b"), Waiting("eve", 1.0, group="a")]
    >>> [[each.person for each in group] for group in by_group(people, 2)]
    [['ann', 'eve']]
    """
    queues: defaultdict[str, list[Waiting]] = defaultdict(list)
    for each in waiting:
        queues[each.group].append(each)
    return [group for queue in queues.values() for group in first_come(queue, size)]


def by_latency(within_ms: float, longest_seconds: float) -> Matchmaker:
    """A matchmaker of people with the closest round trips: it returns the group that plays next, if there is one.

    Args:
      within_ms: by which the round trips of people who play together differ at most.
      longest_seconds: after which a person plays with those who are closest, however far.

    >>> people = [Waiting("ann", 3.0, 20.0), Waiting("bob", 2.0, 180.0), Waiting("eve", 1.0, 30.0)]
    >>> [[each.person for each in group] for group in by_latency(50, 30)(people, 2)]
    [['ann', 'eve']]
    """

    def match(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
        ordered = sorted(waiting, key=lambda each: (each.latency_ms is None, each.latency_ms or 0.0))
        windows = [ordered[first : first + size] for first in range(len(ordered) - size + 1)]
        fitting = [each for each in windows if _spread(each) <= within_ms or _longest(each) >= longest_seconds]
        next_one = min(
            fitting, key=lambda each: (min(0.0, longest_seconds - _longest(each)), _spread(each)), default=()
        )
        return [next_one] if next_one else []

    return match


def _longest(group: Sequence[Waiting]) -> float:
    return max(each.seconds for each in group)


def _spread(group: Sequence[Waiting]) -> float:
    """By how much round trips differ, of people in their order; what was not measured is far from everything."""
    first, last = group[0].latency_ms, group[-1].latency_ms
    if len(group) == 1:
        return 0.0
    return float("inf") if first is None or last is None else last - first


BY_NAME: Final = ("order", "latency", "group")
"""Matchmakers that are shipped; `latency` and `group` are for crowds, which know both of people."""


def matchmaker(name: str, within_ms: float = 50.0, longest_seconds: float = 30.0) -> Matchmaker:
    """The matchmaker of a name.

    Args:
      name: of `BY_NAME`, or "module:function"; "": in order.
      within_ms: see `by_latency`.
      longest_seconds: likewise.

    Raises:
      ImportError: its module is not there.
      AttributeError: its module does not have it.
    """
    shipped: dict[str, Matchmaker] = {
        "": first_come,
        "order": first_come,
        "latency": by_latency(within_ms, longest_seconds),
        "group": by_group,
    }
    if name in shipped:
        return shipped[name]
    module, _, function = name.partition(":")
    found: Matchmaker = getattr(importlib.import_module(module), function)
    return found


def are_groups(groups: Sequence[Sequence[Waiting]], waiting: Sequence[Waiting], size: int) -> bool:
    """Whether a matchmaker returned what it may: groups of the size, of different people who wait."""
    chosen = [each for group in groups for each in group]
    return all(len(group) == size for group in groups) and len(set(chosen)) == len(chosen) and set(chosen) <= {*waiting}
