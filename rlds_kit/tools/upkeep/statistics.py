"""Counts and sizes of a dataset, from its block headers and rewards; nothing else is decoded."""

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.base.step import REWARD, EpisodeEnd
from rlds_kit.storage import column as columns
from rlds_kit.storage import directory as directories
from rlds_kit.storage import restore
from rlds_kit.storage.column_layout import key_of
from rlds_kit.storage.contents import ShardContents, contents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.tools.upkeep.episode_blocks import columns_of, headers_of
from rlds_kit.tools.upkeep.finding import require_dataset

OPEN = "open"
"""The ending of an episode that is being recorded."""

_ENDS = {
    pb.TERMINATED: EpisodeEnd.TERMINATED.value,
    pb.TRUNCATED: EpisodeEnd.TRUNCATED.value,
    pb.INTERRUPTED: EpisodeEnd.INTERRUPTED.value,
}


@dataclass(frozen=True, slots=True)
class Summary:
    """A distribution in five numbers.

    >>> summary([1, 2, 6])
    Summary(min=1.0, mean=3.0, median=2.0, max=6.0, std=2.160246899469287)
    """

    min: float
    mean: float
    median: float
    max: float
    std: float


@dataclass(frozen=True, slots=True)
class FieldSize:
    """The size of a leaf of the steps.

    Attributes:
      path: "observation/pixels".
      types: of its values: "uint8 (210, 160, 3)", "text"; several if they differ.
      values: rows that the columns span; some of them may have no value.
      bytes: as stored.
      decoded_bytes: before compression.
    """

    path: str
    types: tuple[str, ...]
    values: int
    bytes: int
    decoded_bytes: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """Numbers of a dataset. Episodes that are being recorded are counted only under "open".

    Attributes:
      directory: of the dataset.
      endings: number of episodes by the way they ended.
      episodes: number of those that have ended, or whose writer no longer runs.
      steps: of these episodes.
      length: steps of an episode; None without episodes.
      returns: sum of the defined rewards of an episode in float64, by path of the reward: one for each agent.
      shards: files.
      bytes: of all shards.
      bytes_per_step: all bytes by all steps; None without steps.
      blocks: number of step blocks.
      steps_per_block: None without blocks.
      fields: by path.
    """

    directory: Path
    endings: dict[str, int]
    episodes: int
    steps: int
    length: Summary | None
    returns: dict[str, Summary]
    shards: int
    bytes: int
    bytes_per_step: float | None
    blocks: int
    steps_per_block: float | None
    fields: tuple[FieldSize, ...]


@dataclass(slots=True)
class _Field:
    types: dict[str, None] = field(default_factory=dict)
    values: int = 0
    bytes: int = 0
    decoded_bytes: int = 0


@dataclass(slots=True)
class _Counts:
    endings: dict[str, int] = field(default_factory=dict)
    lengths: list[int] = field(default_factory=list)
    returns: dict[str, list[float]] = field(default_factory=dict)
    fields: dict[str, _Field] = field(default_factory=dict)
    blocks: int = 0


def statistics(directory: str | os.PathLike[str], progress: Progress | None = None) -> Statistics:
    """Computes counts and sizes of a dataset.

    Raises:
      NotADatasetError: there is no dataset.
      DamagedError: a block header or a reward is damaged.
      OSError: a file cannot be read.

    >>> statistics("data/pong").length.mean  # doctest: +SKIP
    911.2
    """
    path = require_dataset(directory)
    shards = directories.shards_in(path)
    sizes = [shard.stat().st_size for shard in shards]
    counts, meter = _Counts(), Meter(progress, sum(sizes))
    for shard, size in zip(shards, sizes, strict=True):
        file = ShardFile(shard)
        _count_shard(counts, file, contents(file))
        meter.next_file(size)
    steps = sum(counts.lengths)
    return Statistics(
        directory=path,
        endings=counts.endings,
        episodes=len(counts.lengths),
        steps=steps,
        length=summary(counts.lengths) if counts.lengths else None,
        returns={name: summary(values) for name, values in sorted(counts.returns.items())},
        shards=len(shards),
        bytes=sum(sizes),
        bytes_per_step=sum(sizes) / steps if steps else None,
        blocks=counts.blocks,
        steps_per_block=steps / counts.blocks if counts.blocks else None,
        fields=tuple(_field_statistics(name, each) for name, each in sorted(counts.fields.items())),
    )


def summary(values: Sequence[float]) -> Summary:
    """Minimum, mean, median, maximum and standard deviation (of the values themselves, with their count as divisor)."""
    array = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite returns have no standard deviation
        return Summary(*(float(each(array)) for each in (np.min, np.mean, np.median, np.max, np.std)))


def _count_shard(counts: _Counts, file: ShardFile, shard: ShardContents) -> None:
    for entry in shard.episodes:
        is_open = shard.is_locked and not entry.end
        ending = OPEN if is_open else _ENDS.get(entry.ending, EpisodeEnd.INCOMPLETE.value)  # type: ignore[call-overload]
        counts.endings[ending] = counts.endings.get(ending, 0) + 1
        if not is_open:
            _count_episode(counts, file, entry)


def _count_episode(counts: _Counts, file: ShardFile, entry: EpisodeEntry) -> None:
    counts.lengths.append(entry.rows)
    counts.blocks += len(entry.blocks)
    for _, _, block in headers_of(file, entry):
        for header in block.columns:
            _count_column(counts.fields.setdefault(header.path, _Field()), header)
    for path, total in _returns(file, entry).items():
        counts.returns.setdefault(path, []).append(total)


def _count_column(counts: _Field, header: pb.Column) -> None:
    counts.types[_type_of(header)] = None
    counts.values += header.count
    counts.bytes += header.length
    counts.decoded_bytes += _plain_bytes(header)


def _plain_bytes(header: pb.Column) -> int:
    """The bytes of the values before any filter."""
    if header.ragged or header.partial:
        return header.decoded_length
    itemsize = columns.storage_dtype(key_of(header, "statistics")).itemsize
    return header.count * math.prod(header.shape) * itemsize


def _type_of(header: pb.Column) -> str:
    kind = pb.Kind.Name(header.kind).lower().replace("_", " ")
    if header.kind == pb.SCALAR:
        return f"{header.dtype} scalar"
    if header.kind != pb.ARRAY:
        return kind
    shape = ("?",) * header.rank if header.ragged else tuple(map(str, header.shape))
    return f"{header.dtype} ({', '.join(shape)}{',' if len(shape) == 1 else ''})"


def _returns(file: ShardFile, entry: EpisodeEntry) -> dict[str, float]:
    """The sums of an episode's rewards, by path, of those that are one number per step."""
    totals: dict[str, float] = {}
    for column in columns_of(file, entry, REWARD):
        numeric = column.key.kind in restore.NUMERIC and column.values.dtype.kind in "biuf"
        if numeric and column.shapes is None and column.values[:1].size == 1:
            total = float(column.values.astype(np.float64).sum())
            totals[column.key.path] = totals.get(column.key.path, 0.0) + total
    return totals


def _field_statistics(path: str, counts: _Field) -> FieldSize:
    return FieldSize(path, tuple(counts.types), counts.values, counts.bytes, counts.decoded_bytes)
