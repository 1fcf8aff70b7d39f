"""The facts of an episode that a condition can use; only those that it uses are read."""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import REWARD, EpisodeEnd
from rlds_kit.layers.annotation import Kind
from rlds_kit.spec import value
from rlds_kit.storage import restore
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.tools.upkeep.episode_blocks import columns_of
from rlds_kit.tools.upkeep.source import SourceEpisode

METADATA: Final = "metadata"
_ENDINGS: Final = {
    pb.TERMINATED: EpisodeEnd.TERMINATED,
    pb.TRUNCATED: EpisodeEnd.TRUNCATED,
    pb.INTERRUPTED: EpisodeEnd.INTERRUPTED,
}


def metadata_of(episode: SourceEpisode) -> dict[Any, Any]:
    """Returns the metadata of an episode, as `rlds_kit.Episode.metadata` does.

    Raises:
      DamagedError: it is damaged.
    """
    file, entry = episode.shard.file(), episode.entry
    end = end_of(file, entry)
    return {**value.decode(start_of(file, entry).metadata), **(value.decode(end.metadata) if end else {})}


def return_of(episode: SourceEpisode) -> float:
    """The sum of the defined rewards, in float64; no other field is read.

    Raises:
      SpecError: there is not one number a step.
      DamagedError: a reward is damaged.
    """
    total = 0.0
    for column in columns_of(episode.shard.file(), episode.entry, REWARD):
        numeric = column.key.kind in restore.NUMERIC and column.values.dtype.kind in "biuf"
        if column.key.path != REWARD or not numeric or column.shapes is not None or column.values[:1].size != 1:
            raise SpecError(
                f"return: expected one reward a step in episode {episode.id}, got {column.key.path} of several "
                "parts or of another type; use what its metadata say"
            )
        total += float(column.values.astype(np.float64).sum())
    return total


def _end(episode: SourceEpisode) -> str:
    return _ENDINGS.get(episode.entry.ending, EpisodeEnd.INCOMPLETE).value  # type: ignore[call-overload,no-any-return]


def _id(episode: SourceEpisode) -> str:
    return str(episode.id)


def _length(episode: SourceEpisode) -> int:
    return episode.entry.rows


def _seed(episode: SourceEpisode) -> Any:  # whatever the environment takes
    return value.decode(start_of(episode.shard.file(), episode.entry).seed)


def _tags(episode: SourceEpisode) -> list[str]:
    """The labels of the episode and its steps, in all layers."""
    return sorted({each.value for each in episode.annotations() if each.kind is Kind.TAG})


FACTS: Final[dict[str, Callable[[SourceEpisode], Any]]] = {
    "end": _end,
    "id": _id,
    "length": _length,
    METADATA: metadata_of,
    "return": return_of,
    "seed": _seed,
    "tags": _tags,
}
"""What is known of every episode, by name. Every other name is a key of its metadata."""
