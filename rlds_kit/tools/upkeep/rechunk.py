"""Rewrites a dataset in blocks of another size: small blocks compress badly and are slow to read."""

import os
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Final

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.progress import Meter, Progress
from rlds_kit.layers.carry import Moved, carry
from rlds_kit.storage import directory as directories
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.column import Column
from rlds_kit.storage.contents import contents
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.policy import BLOCK_ROWS
from rlds_kit.storage.recorder import MAX_SHARD_BYTES
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.whole_directory import new_directory
from rlds_kit.tools.upkeep.closing import note_closed
from rlds_kit.tools.upkeep.description_copy import copy_description
from rlds_kit.tools.upkeep.episode_blocks import blocks_of, content_digest
from rlds_kit.tools.upkeep.episode_copy import NewShards
from rlds_kit.tools.upkeep.finding import uuid_of
from rlds_kit.tools.upkeep.lineage import lineage, note
from rlds_kit.tools.upkeep.regroup import regrouped
from rlds_kit.tools.upkeep.source import read_source

BLOCK_BYTES: Final = 32 << 20
"""The most bytes of a block before compression, because a reader has a block in memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RechunkReport:
    """The result of `rechunk`.

    Attributes:
      source: path of the original.
      destination: path of the copy.
      left_out: episodes that are being recorded; they are not in the copy.
      episodes: in the copy.
      steps: in the copy.
      blocks_before: step blocks of these episodes in the original.
      blocks: in the copy.
      bytes_before: size of the shards of the original.
      bytes: of the copy.
    """

    source: Path
    destination: Path
    left_out: tuple[uuid.UUID | None, ...]
    episodes: int
    steps: int
    blocks_before: int
    blocks: int
    bytes_before: int
    bytes: int


def rechunk(
    source: str | os.PathLike[str],
    destination: str | os.PathLike[str],
    *,
    block_rows: int = BLOCK_ROWS,
    block_bytes: int = BLOCK_BYTES,
    max_shard_bytes: int = MAX_SHARD_BYTES,
    progress: Progress | None = None,
) -> RechunkReport:
    """Copies a dataset into blocks of `block_rows` steps. The bytes of discarded episodes are not copied.

    Everything else is preserved: ids, metadata, every value and its type, layers. The content digest of each episode is
    computed from the original and again from the finished copy, and both are compared with the stored digest.

    Args:
      source: of the dataset; not changed.
      destination: for the copy; must not exist, or be empty.
      block_rows: steps in a block.
      block_bytes: maximum bytes in a block before compression; such a block has fewer than `block_rows` steps.
      max_shard_bytes: a shard that has reached this size takes no new episode.
      progress: gets the bytes done; they are read twice.

    Raises:
      ValueError: a size is not positive.
      NotADatasetError: there is no dataset at `source`.
      DatasetExistsError: something is at `destination`.
      DamagedError: the original is damaged; the copy is removed.
      OSError: a file cannot be read or written.

    >>> rechunk("data/pong", "data/pong-128", block_rows=128)  # doctest: +SKIP
    """
    for name, size in (("block_rows", block_rows), ("block_bytes", block_bytes), ("max_shard_bytes", max_shard_bytes)):
        if size <= 0:
            raise ValueError(f"{name}: expected a number above 0, got {size}")
    read = read_source(source)
    with new_directory(destination) as made:
        meter = Meter(progress, 2 * read.size)
        with NewShards(made, max_shard_bytes) as output:
            work = _Work(output, block_rows, block_bytes)
            for shard, episodes in groupby(read.episodes, key=lambda episode: episode.shard):
                for episode in episodes:
                    _copy_episode(work, shard.file(), episode.entry, shard.header)
                meter.next_file(shard.path.stat().st_size)
        copy_description(read.path, made, output.headers)
        after = _check(made, work.digests, meter)
        carry([read.path], made, work.moved)
        note_closed(made)
        note(made, lineage("rechunk", {"block_rows": block_rows, "block_bytes": block_bytes}, [read]))
    return RechunkReport(
        source=Path(source),
        destination=Path(destination),
        left_out=read.left_out,
        episodes=len(work.digests),
        steps=work.steps,
        blocks_before=work.blocks_before,
        blocks=work.blocks,
        bytes_before=read.size,
        bytes=after,
    )


@dataclass(slots=True)
class _Work:
    output: NewShards
    block_rows: int
    block_bytes: int
    seen: SeenFields | None = None
    digests: dict[bytes, bytes] = field(default_factory=dict)
    moved: dict[bytes, Moved] = field(default_factory=dict)
    steps: int = 0
    blocks: int = 0
    blocks_before: int = 0
    choose: FilterChoice = field(default_factory=FilterChoice)


def _copy_episode(work: _Work, file: ShardFile, entry: EpisodeEntry, header: pb.ShardHeader) -> None:
    if entry.episode_id in work.digests:
        raise FormatError(f"{file.path}: episode {uuid_of(entry.episode_id)} is in another shard too")
    shards = len(work.output.headers)
    writer = work.output.writer(header)
    if work.seen is None or len(work.output.headers) > shards:
        work.seen = SeenFields(header.spec)
    digest, start, end = EpisodeDigest(), start_of(file, entry), end_of(file, entry)
    writer.start(start)
    for rows, columns in regrouped(_digested(file, entry, digest), work.block_rows, work.block_bytes):
        amendment = work.seen.amendment(columns)
        if amendment is not None:
            writer.amend(amendment)
        writer.block(entry.episode_id, rows, columns, work.choose)
        work.blocks += 1
    work.digests[entry.episode_id] = digest.digest(start, end)
    work.moved[entry.episode_id] = Moved(entry.content_digest, entry.episode_id, entry.content_digest)
    _require(work.digests[entry.episode_id], entry, file.path)
    if end is not None:
        writer.end(end)
    work.steps += entry.rows
    work.blocks_before += len(entry.blocks)


def _digested(file: ShardFile, entry: EpisodeEntry, digest: EpisodeDigest) -> Iterator[tuple[range, list[Column]]]:
    for rows, columns in blocks_of(file, entry):
        digest.update(columns)
        yield rows, columns


def _require(digest: bytes, entry: EpisodeEntry, place: Path) -> None:
    if entry.content_digest and digest != entry.content_digest:
        raise DamagedError(
            f"{place}: episode {uuid_of(entry.episode_id)} does not have the content digest that was stored with it; "
            "run `rlds-kit verify`"
        )


def _check(directory: Path, expected: dict[bytes, bytes], meter: Meter) -> int:
    """Reads the copy and compares every digest; returns its bytes."""
    found, size = dict[bytes, bytes](), 0
    for path in directories.shards_in(directory):
        file = ShardFile(path)
        found |= {entry.episode_id: content_digest(file, entry) for entry in contents(file).episodes}
        size += file.size()
        meter.next_file(file.size())
    if found != expected:
        raise DamagedError(f"{directory}: the copy differs from the original, so it was removed; report this, please")
    return size
