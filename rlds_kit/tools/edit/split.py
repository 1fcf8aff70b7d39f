"""A dataset becomes several that have no episode in common."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from rlds_kit.base.progress import Meter, Progress
from rlds_kit.base.split import ends_of, key_of, part_of
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.edit.new_dataset import Report, finished, unique
from rlds_kit.tools.edit.one_spec import one_spec
from rlds_kit.tools.edit.output import Output
from rlds_kit.tools.upkeep.lineage import lineage
from rlds_kit.tools.upkeep.source import read_source


def split(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    fractions: Mapping[str, float],
    *,
    seed: int = 0,
    progress: Progress | None = None,
) -> dict[str, Report]:
    """Makes a dataset of each part, by a hash of each episode's id, as `Dataset.split` does.

    Episodes are not decoded, and stay as they are. All parts appear at once, or none.

    Args:
      source: directory of the dataset; not changed.
      destination: directory for the parts, each under its name; must not exist, or be empty.
      fractions: of each part, by name; they sum to 1. The number of episodes in a part is random.
      seed: selects the split.
      progress: gets the bytes done; they are read twice.

    Returns:
      The report of each part.

    Raises:
      ValueError: the fractions are invalid, a name cannot be that of a directory, or the seed is out of range.
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      FormatError: two episodes have the same id and different content.
      DamagedError: the source is damaged.
      OSError: a file cannot be read or written.

    >>> split("data/pong", "data/pong-split", {"train": 0.9, "test": 0.1})  # doctest: +SKIP
    """
    _check(fractions, seed)
    read = read_source(source)
    episodes, duplicates = unique([read])
    parts = {name: [each for each in episodes if part_of(each.id, fractions, seed) == name] for name in fractions}
    spec, meter = one_spec([read]), Meter(progress, 2 * read.size)
    reports = {}
    with new_directory(destination) as directory:
        for name, chosen in parts.items():
            (directory / name).mkdir()
            with Output(directory / name, meter) as output:
                for episode in chosen:
                    output.copy(episode)
            made = lineage("split", {"part": name, "fractions": dict(fractions), "seed": seed}, [read])
            report = finished(directory / name, output, [read], spec, made)
            removed = len(episodes) - len(chosen)
            reports[name] = replace(report, destination=Path(destination, name), removed=removed, duplicates=duplicates)
    return reports


def _check(fractions: Mapping[str, float], seed: int) -> None:
    ends_of(fractions)
    key_of(seed)
    wrong = [name for name in fractions if name in ("", ".", "..") or set(name) & set("/\\:\0")]
    if wrong:
        raise ValueError(f"expected names that directories can have, got {', '.join(map(repr, wrong))}")
