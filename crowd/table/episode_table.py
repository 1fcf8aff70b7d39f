"""A table of recorded episodes: who played, what was counted; made from the recordings, and queried by predicates."""

import contextlib
import os
import re
import sqlite3
import uuid
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Final, Self

from rlds_kit.crowd.collectors.collector import Collector
from rlds_kit.crowd.collectors.offline import collect
from rlds_kit.crowd.incentives.ledger import CROWD
from rlds_kit.crowd.table.expression import Expression
from rlds_kit.dataset import Dataset
from rlds_kit.episode.episode import Episode

Row = dict[str, Any]
"""A line of the table: text, numbers and None by column."""
_COLUMNS: Final = {
    "episode": "TEXT",
    "seat": "TEXT",
    "session": "TEXT",
    "participant": "TEXT",
    "task": "TEXT",
    "kind": "TEXT",
    "started": "REAL",
    "length": "INTEGER",
    "ending": "TEXT",
}
_DETAILS: Final = ("participant", "task", "kind")
_ONE: Final = ""
"""The seat of episodes with one."""


class EpisodeTable:
    """One line for each seat of each recorded episode, with the final value of each collector, in SQLite.

    It holds nothing that the recordings do not have, so that it can be deleted and made again at any time.

    Args:
      path: of the file; ":memory:" for none.
      collectors: a column for each.
      indexed: further columns with an index, beside those of names.

    Raises:
      ValueError: a collector has the name of another column, or the file has a table of episodes of another program.

    >>> from rlds_kit.crowd.collectors import SCORE
    >>> with EpisodeTable(":memory:", [SCORE]) as table:
    ...     table.columns[-1], len(table)
    ('score', 0)
    """

    def __init__(
        self, path: str | os.PathLike[str], collectors: Sequence[Collector] = (), *, indexed: Sequence[str] = ()
    ) -> None:
        self._collectors = tuple(collectors)
        names = [each.name for each in self._collectors]
        if len({*names, *_COLUMNS}) < len(names) + len(_COLUMNS):
            raise ValueError(f"expected collectors with names other than {', '.join(_COLUMNS)}, got {', '.join(names)}")
        self.columns = (*_COLUMNS, *names)
        self._db = sqlite3.connect(path)
        self._db.row_factory = sqlite3.Row
        self._make(("session", "participant", "task", *names, *indexed))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        (count,) = self._db.execute("SELECT count(*) FROM episodes").fetchone()
        return int(count)

    def close(self) -> None:
        """Closes the file."""
        self._db.close()

    def update(self, dataset: Dataset, *, fps: float | None = None) -> int:
        """Adds the episodes that are not there yet or went on since, and takes out those that are gone.

        Args:
          dataset: of the recordings.
          fps: steps in a second, for collectors; None: the recorded clock.

        Returns:
          The number of episodes that were added.
        """
        known = {
            each[0]: (each[1], each[2]) for each in self._db.execute("SELECT episode, length, ending FROM episodes")
        }
        present = {str(each.id) for each in dataset.episodes}
        fresh = [each for each in dataset.episodes if known.get(str(each.id)) != (each.length, _ending(each))]
        old = (known.keys() - present) | {str(each.id) for each in fresh}
        with self._db:
            self._db.executemany("DELETE FROM episodes WHERE episode = ?", [(each,) for each in old])
            for episode in fresh:
                self._insert(self._rows(episode, fps))
        return len(fresh)

    def add(self, rows: Iterable[Row]) -> None:
        """Adds lines as they are; columns that one lacks are NULL."""
        with self._db:
            self._insert(rows)

    def _insert(self, rows: Iterable[Row]) -> None:
        marks = ", ".join("?" * len(self.columns))
        values = [tuple(row.get(name) for name in self.columns) for row in rows]
        self._db.executemany(f"INSERT OR REPLACE INTO episodes VALUES ({marks})", values)  # noqa: S608  only marks

    def where(self, predicate: Expression | None = None) -> list[Row]:
        """The lines for which a predicate is true, in order of their time.

        Raises:
          ValueError: it names a column that there is not.

        >>> from rlds_kit.crowd.table import column
        >>> with EpisodeTable(":memory:") as table:
        ...     table.add([{"episode": "e", "seat": "", "length": 9}])
        ...     [row["length"] for row in table.where(column("length") > 5)]
        [9]
        """
        condition = Expression("1") if predicate is None else predicate
        for name in re.findall(r'"(\w+)"', condition.sql):
            if name not in self.columns:
                raise ValueError(f"expected one of the columns {', '.join(self.columns)}, got {name!r}")
        query = f"SELECT * FROM episodes WHERE {condition.sql} ORDER BY started, episode, seat"  # noqa: S608  values apart
        return [dict(each) for each in self._db.execute(query, condition.values)]

    def episodes(self, dataset: Dataset, predicate: Expression | None = None) -> Dataset:
        """The episodes of a dataset for which a predicate is true in one of their seats."""
        wanted = {uuid.UUID(row["episode"]) for row in self.where(predicate)}
        return dataset.take([number for number, each in enumerate(dataset.episodes) if each.id in wanted])

    def _make(self, indexed: Sequence[str]) -> None:
        types = {**_COLUMNS, **{each.name: "REAL" for each in self._collectors}}
        listed = ", ".join(f'"{name}" {kind}' for name, kind in types.items())
        found = tuple(row["name"] for row in self._db.execute("PRAGMA table_info(episodes)"))
        if found and found[: len(_COLUMNS)] != (*_COLUMNS,):
            self._db.close()
            raise ValueError(f"expected the file of an EpisodeTable, got one with the columns {', '.join(found)}")
        with self._db:
            if found and found != self.columns:
                self._db.execute("DROP TABLE episodes")  # of other collectors: made again from the recordings
            self._db.execute(f"CREATE TABLE IF NOT EXISTS episodes ({listed}, PRIMARY KEY (episode, seat))")
            for name in dict.fromkeys(indexed):
                self._db.execute(f'CREATE INDEX IF NOT EXISTS "by_{name}" ON episodes ("{name}")')

    def _rows(self, episode: Episode, fps: float | None) -> Iterator[Row]:
        metadata = episode.metadata
        seats = metadata.get(CROWD)
        sessions: Mapping[str, Any] = seats if isinstance(seats, Mapping) else {}
        counted = collect(episode, self._collectors, fps=fps) if self._collectors else {}
        agents: list[str | None] = [*counted] or [None]
        for agent in agents:
            seat = agent if agent is not None else next(iter(sessions), _ONE)
            values = counted.get(agent, {})
            yield {
                "episode": str(episode.id),
                "seat": seat,
                "session": _text(sessions.get(seat)),
                **{name: _text(metadata.get(name)) for name in _DETAILS},
                "started": episode.started.timestamp(),
                "length": episode.length,
                "ending": _ending(episode),
                **{name: float(each[-1]) if len(each) else 0.0 for name, each in values.items()},
            }


def _ending(episode: Episode) -> str | None:
    return None if episode.end is None else episode.end.value


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


@contextlib.contextmanager
def rebuilt(
    path: str | os.PathLike[str], dataset: Dataset, collectors: Sequence[Collector] = ()
) -> Iterator[EpisodeTable]:
    """A table that is made again from the recordings, whatever was there.

    Args:
      path: of the file; it is replaced.
      dataset: of the recordings.
      collectors: a column for each.
    """
    Path(path).unlink(missing_ok=True)
    with EpisodeTable(path, collectors) as table:
        table.update(dataset)
        yield table
