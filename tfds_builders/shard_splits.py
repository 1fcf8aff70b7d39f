"""Splits with our files as shards, for `info.splits`; and the episodes of a split."""

import dataclasses
import itertools
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from rlds_kit.tfds_builders.episode_table import EpisodeTable
from rlds_kit.tfds_builders.tfds_extra import tfds


@dataclasses.dataclass(eq=False, frozen=True, repr=False)
class ShardSplitInfo(tfds.core.SplitInfo):  # type: ignore[misc]  # TFDS has no types
    """A split whose files have other names than those of TFDS.

    Attributes:
      paths: of the shards, as long as `shard_lengths`.
    """

    paths: tuple[Path, ...] = ()

    @property
    def filepaths(self) -> list[Any]:  # of epath.Path
        """The shards."""
        return [tfds.core.Path(path) for path in self.paths]

    @property
    def filenames(self) -> list[str]:
        """The names of the shards."""
        return [path.name for path in self.paths]


def split_infos(table: EpisodeTable) -> list[ShardSplitInfo]:
    """The splits for `info.splits`."""
    counts = Counter(table.shards)
    # A file that several splits share is counted once in all.
    episode_bytes = {path: path.stat().st_size / count for path, count in counts.items()}
    return [_split_info(table, name, numbers, episode_bytes) for name, numbers in table.splits.items()]


def _split_info(table: EpisodeTable, name: str, numbers: range, episode_bytes: Mapping[Path, float]) -> ShardSplitInfo:
    runs = [(path, len(list(run))) for path, run in itertools.groupby(table.shards[number] for number in numbers)]
    return ShardSplitInfo(
        name=name,
        shard_lengths=[length for _, length in runs],
        num_bytes=round(sum(length * episode_bytes[path] for path, length in runs)),
        paths=tuple(path for path, _ in runs),
    )


def numbers_of(table: EpisodeTable, infos: Mapping[str, Any], split: Any) -> np.ndarray:
    """The episodes of a split, `[n]` int64.

    Args:
      table: of the episodes.
      infos: its splits, by name.
      split: a name, "train[:10%]", "a+b", "all", a `tfds.core.ReadInstruction`, or one of `tfds.even_splits`.

    Raises:
      ValueError: there is no such split, or no episode in it.
    """
    found = tfds.core.ReadInstruction.from_spec(split).to_absolute(infos)
    numbers = np.array([number for part in found for number in table.splits[part.splitname][part.from_ : part.to]])
    if not len(numbers):
        lengths = {name: len(numbers) for name, numbers in table.splits.items()}
        raise ValueError(f"expected a split with episodes, got {split!r}, which has none; there are {lengths}")
    return numbers.astype(np.int64)
