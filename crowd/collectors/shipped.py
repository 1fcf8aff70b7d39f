"""The collectors of the project, by name."""

from typing import Final

from rlds_kit.crowd.collectors import general, lag, orders, position
from rlds_kit.crowd.collectors.collector import Collector, find_collector

COLLECTORS: Final[dict[str, Collector]] = {
    each.name: each
    for module in (general, position, orders, lag)
    for each in vars(module).values()
    if isinstance(each, Collector)
}
"""The shipped collectors by name."""


def collector(name: str) -> Collector:
    """A collector by name: of the project, or of an entry point `rlds_kit.collectors` of another package.

    Raises:
      ValueError: there is none of that name.

    >>> collector("score").label
    'Score'
    """
    return find_collector(name, COLLECTORS)
