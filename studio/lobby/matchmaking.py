"""Puts people who wait together."""

import importlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person who waits, for a matchmaker.

    Attributes:
      person: as recordings know them: the same one in all episodes of the study.
      seconds: how long they have waited.
    """

    person: str
    seconds: float


Matchmaker = Callable[[Sequence[Waiting], int], Iterable[Sequence[Waiting]]]
"""Called with all who wait, who came first is first, and with how many play together; returns groups of so many.

It is called when somebody comes, and once a second, and has to return at once.
"""


def first_come(waiting: Sequence[Waiting], size: int) -> list[Sequence[Waiting]]:
    """Groups in the order in which people came.

    >>> people = [Waiting(name, 1.0) for name in ("ann", "bob", "eve")]
    >>> [[each.person for each in group] for group in first_come(people, 2)]
    [['ann', 'bob']]
    """
    return [waiting[first : first + size] for first in range(0, len(waiting) - size + 1, size)]


def matchmaker(name: str) -> Matchmaker:
    """The matchmaker of a name.

    Args:
      name: "module:function"; "": `first_come`.

    Raises:
      ImportError: its module is not there.
      AttributeError: its module does not have it.
    """
    if not name:
        return first_come
    module, _, function = name.partition(":")
    found: Matchmaker = getattr(importlib.import_module(module), function)
    return found


def are_groups(groups: Sequence[Sequence[Waiting]], waiting: Sequence[Waiting], size: int) -> bool:
    """Whether a matchmaker returned what it may: groups of the size, of different people who wait."""
    chosen = [each for group in groups for each in group]
    return all(len(group) == size for group in groups) and len(set(chosen)) == len(chosen) and set(chosen) <= {*waiting}
