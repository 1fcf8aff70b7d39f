"""Copies episodes into new shards without decoding them, and hashes the copied bytes."""

import uuid
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Final, Self

import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.progress import Meter
from rlds_kit.storage import directory as directories
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_records import end_of, start_of
from rlds_kit.storage.recorder import MAX_SHARD_BYTES
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.tools.upkeep.episode_blocks import headers_of

_OF_A_RUN: Final = ("spec", "metadata", "environment")


def copy_episode(file: ShardFile, entry: EpisodeEntry, writer: ShardWriter | None, meter: Meter | None = None) -> bytes:
    """Copies an episode as stored, without decoding columns.

    Args:
      file: the shard with the episode.
      entry: of the episode.
      writer: of the new shard; None: only computes the hash.
      meter: counts the bytes of the blocks.

    Returns:
      The XXH3-128 of all bytes, which is the same for the copy.

    Raises:
      DamagedError: the episode is damaged, or steps of it are missing.
    """
    start, end, digest = start_of(file, entry), end_of(file, entry), xxhash.xxh3_128()
    if writer is not None:
        writer.start(start)
    for position, _, header in headers_of(file, entry):
        record = file.record(position)
        digest.update(record)
        if writer is not None:
            writer.encoded_block(entry.episode_id, range(header.first_row, header.end_row), record)
        if meter is not None:
            meter.next_file(len(record))
    if writer is not None and end is not None:
        writer.end(end)
    for message in (start, end):
        digest.update(b"" if message is None else message.SerializeToString(deterministic=True))
    return digest.digest()


class NewShards:
    """Writes the shards of a new dataset one after the other; all runs in a shard have the same header.

    Args:
      directory: of the shards.
      max_bytes: a shard of this size gets no more episodes.

    Attributes:
      headers: of the shards so far.
    """

    def __init__(self, directory: Path, max_bytes: int = MAX_SHARD_BYTES) -> None:
        self.headers: list[pb.ShardHeader] = []
        self._names, self._max_bytes = directories.shard_paths(directory), max_bytes
        self._writer: ShardWriter | None = None

    def writer(self, header: pb.ShardHeader, amendments: Sequence[pb.Spec] = ()) -> ShardWriter:
        """Returns the writer of a shard that is not full, for an episode of a run.

        Args:
          header: of the shard that the episode is in.
          amendments: the specs of undeclared fields that the episode may have.
        """
        writer = self._writer
        if writer is None or writer.is_full(self._max_bytes) or self._differs(header):
            self.close()
            own = pb.ShardHeader()
            own.CopyFrom(header)
            own.shard_id = uuid.uuid4().bytes
            self.headers.append(own)
            writer = self._writer = ShardWriter(next(self._names), own)
        for amendment in amendments:
            writer.amend(amendment)
        return writer

    def _differs(self, header: pb.ShardHeader) -> bool:
        return any(getattr(self.headers[-1], name) != getattr(header, name) for name in _OF_A_RUN)

    def close(self) -> None:
        """Closes the last shard."""
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, _: BaseException | None, __: TracebackType | None) -> None:
        if kind is not None and self._writer is not None:
            self._writer.abandon()
        else:
            self.close()
