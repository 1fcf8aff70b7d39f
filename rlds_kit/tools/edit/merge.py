"""Several datasets become one."""

import os
from collections.abc import Iterable
from dataclasses import replace

from rlds_kit.base.progress import Progress
from rlds_kit.tools.edit.new_dataset import Report, new_dataset, unique
from rlds_kit.tools.upkeep.lineage import lineage
from rlds_kit.tools.upkeep.source import read_source


def merge(
    sources: Iterable[str | os.PathLike[str]],
    destination: str | os.PathLike[str],
    *,
    progress: Progress | None = None,
) -> Report:
    """Puts the episodes of several datasets into a new one, without decoding them.

    Ids, content digests, runs and blocks do not change. An episode that several sources have is copied once.

    Args:
      sources: directories of datasets; not changed.
      destination: for the new dataset; must not exist, or be an empty directory.
      progress: gets the bytes done; they are read twice.

    Raises:
      ValueError: there are no sources.
      NotADatasetError: one of them is no dataset.
      DatasetExistsError: something is at `destination`.
      SpecError: their specs contradict each other.
      FormatError: two episodes have the same id and different content.
      DamagedError: a source is damaged.
      OSError: a file cannot be read or written.

    >>> merge(["data/monday", "data/tuesday"], "data/both")  # doctest: +SKIP
    """
    read = [read_source(source) for source in sources]
    if not read:
        raise ValueError("expected at least one dataset to merge, got none")
    episodes, duplicates = unique(read)
    report = new_dataset(destination, read, episodes, lineage("merge", {}, read), progress)
    return replace(report, duplicates=duplicates)
