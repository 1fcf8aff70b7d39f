"""A dataset without some of its episodes."""

import os
import uuid
from collections.abc import Iterable
from dataclasses import replace

from rlds_kit.base.progress import Progress
from rlds_kit.tools.edit.new_dataset import Report, new_dataset, unique
from rlds_kit.tools.upkeep.lineage import lineage
from rlds_kit.tools.upkeep.source import read_source


def delete(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    ids: Iterable[uuid.UUID | str],
    *,
    progress: Progress | None = None,
) -> Report:
    """Copies a dataset without the episodes of these ids; the others are not decoded, and stay as they are.

    Args:
      source: directory of the dataset; not changed.
      destination: for the new dataset; must not exist, or be an empty directory.
      ids: of the episodes to leave out, as `episode.id` gives them.
      progress: gets the bytes done; they are read twice.

    Raises:
      ValueError: one of `ids` is no UUID.
      KeyError: the dataset has no such episode.
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      FormatError: two episodes have the same id and different content.
      DamagedError: the source is damaged.
      OSError: a file cannot be read or written.

    >>> delete("data/pong", "data/good", ["6f9619ff-8b86-4d01-b42d-00cf4fc964ff"])  # doctest: +SKIP
    """
    unwanted = {_uuid(each) for each in ids}
    read = read_source(source)
    episodes, duplicates = unique([read])
    missing = unwanted - {episode.id for episode in episodes}
    if missing:
        raise KeyError(f"{read.path}: there is no episode {', '.join(sorted(map(str, missing)))}; nothing was deleted")
    made = lineage("delete", {"ids": sorted(map(str, unwanted))}, [read])
    others = [episode for episode in episodes if episode.id not in unwanted]
    report = new_dataset(destination, [read], others, made, progress)
    return replace(report, removed=len(unwanted), duplicates=duplicates)


def _uuid(given: uuid.UUID | str) -> uuid.UUID:
    try:
        return given if isinstance(given, uuid.UUID) else uuid.UUID(given)
    except ValueError as error:
        raise ValueError(f"expected the id of an episode, a UUID, got {given!r}") from error
