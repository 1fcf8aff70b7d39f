"""Copies the episodes of a dataset that meet a condition."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError
from rlds_kit.base.progress import Progress
from rlds_kit.base.step import REWARD, EpisodeEnd
from rlds_kit.layers.annotation import Kind
from rlds_kit.spec import value
from rlds_kit.storage import restore
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.tools.edit.expression import Condition, parse
from rlds_kit.tools.edit.new_dataset import Report, new_dataset, unique
from rlds_kit.tools.upkeep.episode_blocks import columns_of
from rlds_kit.tools.upkeep.lineage import lineage
from rlds_kit.tools.upkeep.source import SourceEpisode, read_source


def filter(  # noqa: A001  the usual name; it is used as `edit.filter`
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    where: str,
    *,
    progress: Progress | None = None,
) -> Report:
    """Copies the episodes that meet a condition, without decoding or changing them.

    Args:
      source: directory of the dataset; not changed.
      destination: for the new dataset; must not exist, or be an empty directory.
      where: a condition, in a small part of Python. Names are keys of the episode's metadata, None where it has no such
        key, and `length`, `end` ("terminated", "truncated", "interrupted", "incomplete"), `return` (the sum of its
        rewards), `seed`, `id`, and `tags` (the labels that layers give it or its steps, as in `"crash" in tags`);
        `metadata["key"]` is for keys that are no valid names, or equal one of these.
      progress: gets the bytes done; they are read twice.

    Raises:
      ValueError: the condition cannot be parsed, has a name that no episode has, or cannot be evaluated.
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      SpecError: it uses the return of an episode that does not have one reward for each step.
      FormatError: two episodes have the same id and different content.
      DamagedError: the source is damaged.
      OSError: a file cannot be read or written.

    >>> filter("data/pong", "data/good", "return > 10 and end == 'terminated'")  # doctest: +SKIP
    """
    condition, read = parse(where), read_source(source)
    episodes, duplicates = unique([read])
    chosen = list(_chosen(condition, episodes))
    report = new_dataset(destination, [read], chosen, lineage("filter", {"where": where}, [read]), progress)
    return replace(report, removed=len(episodes) - len(chosen), duplicates=duplicates)


def _chosen(condition: Condition, episodes: Sequence[SourceEpisode]) -> Iterator[SourceEpisode]:
    keys = condition.names - FACTS.keys()
    metadata = [metadata_of(episode) if keys else {} for episode in episodes]
    unknown = sorted(keys - {key for each in metadata for key in each})
    if unknown and episodes:
        known = sorted({key for each in metadata for key in each if isinstance(key, str)} | FACTS.keys())
        raise ValueError(f"no episode has {', '.join(unknown)}; there are {', '.join(known)}")
    for episode, each in zip(episodes, metadata, strict=True):
        if _is_true(condition, episode, {key: each.get(key) for key in keys}):
            yield episode


def _is_true(condition: Condition, episode: SourceEpisode, values: dict[str, Any]) -> bool:
    values |= {name: FACTS[name](episode) for name in condition.names & FACTS.keys()}
    try:
        return condition.is_true(values)
    except ValueError as error:
        shown = ", ".join(f"{name}={item!r}" for name, item in sorted(values.items()) if name != METADATA)
        raise ValueError(f"episode {episode.id}: {error} ({shown})") from error


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
