"""Collectors: what is counted of a participant's play, step by step, live and of recordings."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.metadata import entry_points
from typing import Final

from rlds_kit.crowd.collectors.moment import Moment

Count = Callable[[Moment], float]
"""Takes the moments of one agent in order, and returns the value after each of them.

One that can be pickled counts also while people play in the studio; others are counted from recordings only.
"""

GROUP: Final = "rlds_kit.collectors"
"""The entry points of other packages: a name, and the `Collector`."""


@dataclass(frozen=True, slots=True)
class Collector:
    """What is counted.

    Attributes:
      name: of the field and of the column that hold its values: letters, digits and _.
      label: for people, such as "Correct aliens shot".
      begin: makes a count that has seen nothing; can be pickled.
      is_fraction: whether values are parts of 1, which pages show as per cent.
      reads: fields of steps that it needs, so that other columns are not read; None: all. An observation that is a
        console's memory is always read.

    >>> Collector("steps", "Steps", lambda: lambda moment: moment.index + 1.0).label
    'Steps'
    """

    name: str
    label: str
    begin: Callable[[], Count]
    is_fraction: bool = False
    reads: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        if not self.name.isidentifier():
            raise ValueError(f"a collector: expected a name of letters, digits and _, got {self.name!r}")


READS: Final = ("action", "reward", "info", "time_ns", "ram", "RAM", "next_ram")
"""What collectors of the project read: no pictures."""


def find_collector(name: str, own: dict[str, Collector]) -> Collector:
    """A collector of the project, or of an entry point.

    Raises:
      ValueError: there is none of that name.
    """
    if name in own:
        return own[name]
    others = entry_points(group=GROUP)
    for each in others:
        if each.name == name:
            found = each.load()
            if not isinstance(found, Collector):
                raise ValueError(f"the entry point {name} of {GROUP}: expected a Collector, got {type(found).__name__}")
            return found
    known = ", ".join(sorted({*own, *others.names}))
    raise ValueError(f"expected one of the collectors {known}; got {name!r}")
