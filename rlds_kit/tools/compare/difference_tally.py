"""Counts differences."""

from rlds_kit.tools.compare.report import Divergence, FieldDifference
from rlds_kit.tools.compare.values import Kind, ValueDifference, short


class Tally:
    """Counts differences by field and kind, and stores the first ones.

    Args:
      limit: how many to store.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._fields: dict[tuple[str, Kind], FieldDifference] = {}
        self._first: list[Divergence] = []

    def add(
        self,
        found: ValueDifference,
        episode_a: int | None = None,
        episode_b: int | None = None,
        step: int | None = None,
    ) -> None:
        """Adds a difference and its place."""
        before = self._fields.get((found.path, found.kind))
        if before is None or len(self._first) < self._limit:
            divergence = Divergence(found.path, found.kind, short(found.a), short(found.b), episode_a, episode_b, step)
            self._first += [divergence] if len(self._first) < self._limit else []
            if before is None:
                before = FieldDifference(found.path, found.kind, 0, 0, None, divergence)
        known = [each for each in (before.max_difference, found.max_difference) if each is not None]
        self._fields[found.path, found.kind] = FieldDifference(
            found.path,
            found.kind,
            before.count + 1,
            before.values + found.count,
            max(known, default=None),
            before.first,
        )

    @property
    def total(self) -> int:
        """Differences so far."""
        return sum(each.count for each in self._fields.values())

    def fields(self) -> tuple[FieldDifference, ...]:
        """Every field that differs."""
        return tuple(self._fields.values())

    def first(self) -> tuple[Divergence, ...]:
        """The first differences."""
        return tuple(self._first)
