"""The first step in which a field is true."""

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import restore
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import escape
from rlds_kit.tools.upkeep.episode_blocks import columns_of
from rlds_kit.tools.upkeep.source import SourceEpisode


def has_field(episode: SourceEpisode, field: str) -> bool:
    """Whether some step has a value for a field.

    Raises:
      DamagedError: the field is damaged.
    """
    return any(True for _ in _columns(episode, field))


def first_set(episode: SourceEpisode, field: str, begin: int, end: int) -> int | None:
    """The first of the steps `[begin, end)` in which a field is true; None if it is in none. Nothing else is read.

    Args:
      episode: of a source.
      field: name, or path into a nest: "info/success".
      begin: first step to search.
      end: one past the last.

    Raises:
      ValueError: it is not one bool a step.
      DamagedError: it is damaged.
    """
    found = []
    for column in _columns(episode, field):
        if column.key.kind == pb.NONE:
            continue  # not known in these steps
        _require_bool(column, episode, field)
        rows = column.rows[column.values.reshape(-1).astype(np.bool_)]
        found += rows[(rows >= begin) & (rows < end)].tolist()
    return min(found, default=None)


def _columns(episode: SourceEpisode, field: str) -> list[Column]:
    paths = {field, escape(field)}
    return [
        column
        for path in sorted(paths)
        for column in columns_of(episode.shard.file(), episode.entry, path)
        if column.key.path in paths
    ]


def _require_bool(column: Column, episode: SourceEpisode, field: str) -> None:
    numeric, dtype = column.key.kind in restore.NUMERIC, column.values.dtype
    if column.shapes is not None or not numeric or dtype != np.bool_ or column.values[:1].size != 1:
        what = f"{dtype} {column.values.shape[1:]}" if numeric else pb.Kind.Name(column.key.kind)
        raise ValueError(f"{field}: expected one bool a step, got {what} in episode {episode.id}")
