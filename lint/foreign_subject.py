"""Datasets of foreign formats for checks: read by the reader of their format, without a conversion."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from rlds_kit.convert.protocol import ForeignEpisode, Reader, Row
from rlds_kit.convert.rows import Rows
from rlds_kit.lint.nests import columns_between, leaves_of
from rlds_kit.lint.subject import Leaf, SubjectEpisode, Wanted
from rlds_kit.storage.leaf import escape


class ForeignSubject:
    """A dataset that a reader of a foreign format reads. A `Subject`."""

    def __init__(self, path: Path, reader: Reader) -> None:
        self._reader = reader
        self.name = str(path)
        self.spec = reader.spec
        self.metadata: Mapping[str, Any] = reader.metadata
        self.lossy: Mapping[str, str] = reader.lossy
        self.deviations: Mapping[str, Sequence[str]] = {}
        self.expected = len(reader)
        self.size = reader.size
        self.damage: Sequence[str] = ()

    @property
    def losses(self) -> Sequence[str]:
        """Descriptions of data that the reader leaves out."""
        return [f"{loss.field}: {loss.reason}" for loss in self._reader.losses]

    def __iter__(self) -> Iterator[SubjectEpisode]:
        """The episodes in order."""
        for number, episode in enumerate(self._reader):
            yield ReadEpisode(number, episode, self._reader.environment)


class ReadEpisode(SubjectEpisode):
    """An episode that a reader read."""

    def __init__(self, number: int, episode: ForeignEpisode, environment: Mapping[str, Any]) -> None:
        self.number, self._episode = number, episode
        lacks_final = len(episode.acted) >= len(episode.observed)
        self.length = len(episode.observed) + lacks_final
        self.end, self.terminated, self.truncated = episode.end, episode.terminated, episode.truncated
        self.metadata, self.seed, self.options = episode.metadata, episode.seed, episode.options
        self.provenance = {**environment, **episode.provenance}
        self.digest = b""

    def leaves(self, wanted: Wanted, begin: int, end: int) -> dict[str, Leaf]:
        """The requested leaves with values in rows `[begin, end)`."""
        found: dict[str, Leaf] = {}
        for rows in (self._episode.observed, self._episode.acted):
            if isinstance(rows, Rows):
                found |= _of_columns(rows, begin, min(end, len(rows)), wanted)
                continue
            some = rows[begin:end]
            names = {name for row in some for name in row}
            found |= leaves_of(some, begin, sorted(name for name in names if _may_be_wanted(wanted, name)))
        return {path: leaf for path, leaf in found.items() if wanted(path)}

    def rows(self, begin: int, end: int) -> list[dict[str, Any]]:
        """Observation, action and reward as they were read."""
        observed, acted = self._episode.observed[begin:end], self._episode.acted[begin:end]
        return [{**_row(observed, index), **_row(acted, index)} for index in range(max(len(observed), len(acted)))]


def _of_columns(rows: Rows, begin: int, end: int, wanted: Wanted) -> dict[str, Leaf]:
    """The leaves of rows `[begin, end)`, of columns of which some begin later."""
    found: dict[str, Leaf] = {}
    for first in {rows.begin.get(name, 0) for name in rows.columns}:
        columns = {name: each for name, each in rows.columns.items() if rows.begin.get(name, 0) == first}
        for path, leaf in columns_between(columns, max(begin - first, 0), end - first, wanted).items():
            found[path] = Leaf(leaf.values, leaf.rows + first)
    return found


def _row(rows: Sequence[Row], index: int) -> Row:
    return rows[index] if index < len(rows) else {}


def _may_be_wanted(wanted: Wanted, name: str) -> bool:
    """Whether a field, or one below it, is requested."""
    path = escape(name)
    return wanted(path) or wanted(f"{path}/")
