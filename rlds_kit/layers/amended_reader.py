"""Reads an amended episode: values of annotations replace recorded ones."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.storage.column import Column
from rlds_kit.storage.episode_reader import EpisodeReader, Wanted
from rlds_kit.storage.leaf import is_at_or_below
from rlds_kit.storage.restore import Allocate, Stack, empty, exact


class Overlay:
    """Values that replace recorded ones.

    Args:
      columns: by the path of the amended field, which may be a part of a field; each leaf's rows are ascending.
      rows: by that path, `[n]` the rows that are amended.
      faults: by the path of other fields, why their amendments are invalid; only relevant to readers of these fields.

    Attributes:
      columns: as given.
      paths: of all these columns.
    """

    def __init__(
        self,
        columns: Mapping[str, Sequence[Column]],
        rows: Mapping[str, np.ndarray],
        faults: Mapping[str, str] = MappingProxyType({}),
    ) -> None:
        self.columns, self._rows, self._faults = columns, rows, faults
        self.paths = tuple(dict.fromkeys(each.key.path for group in columns.values() for each in group))

    @property
    def has_faults(self) -> bool:
        """Whether there is a field whose amendments cannot be read."""
        return bool(self._faults)

    def require(self, wanted: Wanted, recorded: Iterable[str]) -> None:
        """Raises an error for fields whose amendments are invalid.

        Args:
          wanted: selects paths to read.
          recorded: the paths of recorded columns.

        Raises:
          SpecError: a selected field has invalid amendments.
        """
        for field, message in self._faults.items():
            below = (path for path in recorded if is_at_or_below(path, field))
            if wanted(field) or any(map(wanted, below)):
                raise SpecError(message)

    def touches(self, begin: int, end: int) -> bool:
        """Whether a row of `[begin, end)` is amended."""
        return any(bool(np.searchsorted(rows, begin) < np.searchsorted(rows, end)) for rows in self._rows.values())

    def covers(self, path: str) -> bool:
        """Whether a column lies at, below or above the path of an amended field."""
        return any(_overlap(path, field) for field in self._rows)

    def put(self, found: Mapping[str, list[Column]], wanted: Wanted) -> dict[str, list[Column]]:
        """Recorded columns without the amended rows, and the columns of the amendments."""
        made: dict[str, list[Column]] = {}
        for path, parts in found.items():
            amended = self._amended_rows(path)
            self._require_parts(path, parts, amended)
            left = [part for part in (_without(part, amended) for part in parts) if len(part.rows)]
            if left:
                made[path] = left
        for column in (each for group in self.columns.values() for each in group if wanted(each.key.path)):
            made.setdefault(column.key.path, []).append(column)
        return made

    def _amended_rows(self, path: str) -> np.ndarray:
        """The rows in which the value at a path is amended, completely or in part."""
        found = [rows for field, rows in self._rows.items() if _overlap(path, field)]
        return np.unique(np.concatenate(found)) if found else np.empty(0, np.int64)

    def _require_parts(self, path: str, parts: Sequence[Column], rows: np.ndarray) -> None:
        """Raises an error if a part of a value that was recorded as a whole is amended, except the empty dict."""
        field = next((each for each in self._rows if each.startswith(f"{path}/")), None)
        for part in parts if field is not None else ():
            inside = np.isin(part.rows, rows)
            items = (item for item, is_in in zip(exact(part), inside.tolist(), strict=True) if is_in)
            if any(not isinstance(item, dict) or item for item in items):
                raise SpecError(
                    f"{field}: expected {path} to be recorded part by part, but some of these steps have it as one "
                    f"value; amend {path} as a whole"
                )


class AmendedReader(EpisodeReader):
    """Reads an episode with an overlay. Otherwise like `EpisodeReader`."""

    def __init__(self, recorded: EpisodeReader, overlay: Overlay) -> None:
        vars(self).update(vars(recorded))  # attributes that amendments do not affect
        self._recorded, self._overlay = recorded, overlay

    def columns(self, begin: int, end: int, wanted: Wanted) -> dict[str, list[Column]]:
        """The columns that have values in rows `[begin, end)`, by path."""
        self._require(begin, end, wanted)
        found = self._overlay.put(self._recorded.columns(begin, end, wanted), wanted)
        inside = {path: [each for each in parts if _is_in(each, begin, end)] for path, parts in found.items()}
        return {path: parts for path, parts in inside.items() if parts}

    def blocks(self, begin: int, end: int, wanted: Wanted) -> Iterator[list[Column]]:
        """The requested columns of each block that intersects rows `[begin, end)`, and those of the amendments."""
        self._require(begin, end, wanted)

        def unamended(path: str) -> bool:
            return wanted(path) and not self._overlay.covers(path)

        def amended(path: str) -> bool:
            return wanted(path) and self._overlay.covers(path)

        yield from self._recorded.blocks(begin, end, unamended)
        yield [column for parts in self.columns(begin, end, amended).values() for column in parts]

    def stacks(
        self,
        begin: int,
        end: int,
        wanted: Wanted,
        *,
        last: int | None = None,
        allocate: Allocate = empty,
    ) -> dict[str, Stack]:
        """The requested columns of rows `[begin, end)`, stacked for each leaf, by path."""
        self._require(begin, end, wanted)
        if not self._overlay.touches(begin, end):
            return self._recorded.stacks(begin, end, wanted, last=last, allocate=allocate)

        def unamended(path: str) -> bool:
            return wanted(path) and not self._overlay.covers(path)

        def amended(path: str) -> bool:
            return wanted(path) and self._overlay.covers(path)

        until = end if last is None else last + 1
        found = self._recorded.stacks(begin, end, unamended, last=last, allocate=allocate)
        for path, parts in self.columns(begin, until, amended).items():
            found[path] = Stack(begin, end, allocate)
            for part in parts:
                found[path].add(part)
        return found

    def _require(self, begin: int, end: int, wanted: Wanted) -> None:
        if self._overlay.has_faults:
            self._overlay.require(wanted, self._recorded.paths(begin, end))

    def paths(self, begin: int, end: int) -> list[str]:
        """The paths of all columns of rows `[begin, end)`, recorded or amended."""
        return list(dict.fromkeys((*self._recorded.paths(begin, end), *self._overlay.paths)))


def _is_in(column: Column, begin: int, end: int) -> bool:
    return bool(len(column.rows)) and column.rows[0] < end and column.rows[-1] >= begin


def _overlap(one: str, other: str) -> bool:
    """Whether one path is at or below the other."""
    return is_at_or_below(one, other) or is_at_or_below(other, one)


def _without(column: Column, rows: np.ndarray) -> Column:
    """The part of a column that is not in these rows."""
    is_left = ~np.isin(column.rows, rows)
    if is_left.all():
        return column
    if column.shapes is None:
        return Column(column.key, column.rows[is_left], column.values[is_left])
    pieces = [piece.reshape(-1) for piece, wanted in zip(column.items(), is_left.tolist(), strict=True) if wanted]
    values = np.concatenate(pieces) if pieces else column.values[:0]
    return Column(column.key, column.rows[is_left], values, column.shapes[is_left])
