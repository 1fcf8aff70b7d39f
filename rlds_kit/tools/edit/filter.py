"""Copies the episodes of a dataset that meet a condition."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from rlds_kit.base.progress import Progress
from rlds_kit.tools.edit.expression import Condition, parse
from rlds_kit.tools.edit.facts import FACTS, METADATA, metadata_of
from rlds_kit.tools.edit.new_dataset import new_dataset
from rlds_kit.tools.edit.report import Report
from rlds_kit.tools.edit.unique import unique
from rlds_kit.tools.upkeep.lineage import lineage
from rlds_kit.tools.upkeep.source import SourceEpisode, read_source


def filter(  # noqa: A001  what people call it; it is used as `edit.filter`
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
        `metadata["key"]` is for keys that are no names, or are one of these.
      progress: gets the bytes done; they are read twice.

    Raises:
      ValueError: the condition cannot be parsed, has a name that no episode has, or cannot be decided.
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
