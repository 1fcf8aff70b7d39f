"""The open shards of one writer: assigns episodes to shards, and closes full shards."""

import contextlib
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rlds_kit._version import __version__
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.riegeli.blocks import CHUNK_HEADER_SIZE
from rlds_kit.storage import directory as directories
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.block_parts import HEAVY_BYTES, acted_fields, cut, rows_of_parts
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_encoder import Hashes
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.jobs import Block, Discard, End, Start, Whole
from rlds_kit.storage.lane_blocks import EncodedBlock
from rlds_kit.storage.leaf import field_of
from rlds_kit.storage.manifest import ManifestWriter
from rlds_kit.storage.shard_writer import ShardWriter
from rlds_kit.storage.whole_episodes import WholeBuilder

_FRAMING: Final = 3 * CHUNK_HEADER_SIZE
"""Bytes of an episode beside its three records, at the least."""


@dataclass(slots=True)
class OpenEpisode:
    """The writer's state of an open episode."""

    shard: ShardWriter
    start: pb.EpisodeStart
    digest: EpisodeDigest = field(default_factory=EpisodeDigest)


class ShardSet:
    """Writes episodes into shards. Not thread-safe.

    An episode is stored in one shard; a full shard gets no new ones and is closed when the last of its episodes has
    ended.

    Args:
      directory: of the shards.
      header: of every shard.
      max_shard_bytes: size of a full shard.
      max_shard_episodes: number of episodes of a full shard; None: no limit.
      cut_heavy_blocks: whether to split large blocks.
    """

    def __init__(
        self,
        directory: Path,
        header: pb.ShardHeader,
        max_shard_bytes: int,
        max_shard_episodes: int | None,
        *,
        cut_heavy_blocks: bool,
    ) -> None:
        self.episodes: dict[bytes, OpenEpisode] = {}
        self._directory = directory
        self._header = header
        self._max_bytes, self._max_episodes = max_shard_bytes, max_shard_episodes
        self._names = directories.shard_paths(directory)
        self._manifest = ManifestWriter(directory)
        self._shards: dict[ShardWriter, SeenFields] = {}
        self._current: ShardWriter | None = None
        self._unsynced: set[ShardWriter] = set()
        self._choose = FilterChoice()
        self._cut_heavy_blocks, self._row_bytes = cut_heavy_blocks, 0.0
        self._acted: set[str] = set()
        self._closed_rows, self._is_gathering = 0, False

    @property
    def rows(self) -> int:
        """Number of rows that were written, of all shards."""
        return self._closed_rows + sum(shard.rows for shard in self._shards)

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Writes what is passed on meanwhile with few system calls, when it ends; after an error too.

        Raises:
          OSError: the disk is full, or gone.
        """
        self._is_gathering = True
        try:
            for shard in self._shards:
                shard.is_gathering = True
            yield
        finally:
            self._is_gathering = False
            with contextlib.ExitStack() as stack:  # writes the others if one of them fails
                for shard in self._shards:
                    shard.is_gathering = False
                    stack.callback(shard.write_pending)

    def start(self, job: Start) -> None:
        """Starts an episode, in a new shard if the current one is full. A repeated job (after Ctrl-C) is ignored."""
        if job.start.episode_id in self.episodes:
            return
        shard = self._shard_of_next()
        shard.start(job.start)
        self.episodes[job.start.episode_id] = OpenEpisode(shard, job.start)
        self._unsynced.add(shard)

    def whole(self, jobs: Sequence[Whole]) -> None:
        """Writes whole episodes, all of whose rows are in the same buffer: their columns have the same forms."""
        while jobs:
            shard, first = self._shard_of_next(), jobs[0]
            found = self._records_of(shard, jobs)
            if found:
                self._unsynced.add(shard)
                shard.whole(found.build())
            else:
                self.start(Start(pb.EpisodeStart.FromString(first.start)))
                self.block(Block(first.episode_id, range(first.rows), first.buffer, is_whole=True))
                self.end(End(pb.EpisodeEnd.FromString(first.end)))
            jobs = jobs[len(found) or 1 :]  # if none was found, the first one was written by itself

    def _records_of(self, shard: ShardWriter, jobs: Sequence[Whole]) -> WholeBuilder:
        """The first episodes: as many as were encoded together, and as the shard has space for."""
        forms, found, size = jobs[0].buffer.forms(), WholeBuilder(), shard.size
        if not forms or not self._shards[shard].needs_none(forms):
            return found
        for job in jobs if self._max_episodes is None else jobs[: self._max_episodes - shard.episodes]:
            encoded = job.buffer.encoded(self._choose) if size < self._max_bytes and self._is_light(job.rows) else None
            if encoded is None:
                break
            size += found.add(job, encoded) + _FRAMING
            self._row_bytes = len(encoded.record) / job.rows
        return found

    def _shard_of_next(self) -> ShardWriter:
        """The shard of the next episode: a new one if the current one is full."""
        if self._current is None or self._is_full(self._current):
            previous, self._current = self._current, self._new_shard()
            if previous is not None and not previous.has_open_episodes:
                self._close(previous)
        return self._current

    def block(self, job: Block) -> None:
        """Writes rows, after the spec of new fields in them."""
        episode = self.episodes[job.episode_id]
        self._unsynced.add(episode.shard)
        if self._write_encoded(episode, job):
            return
        columns = job.buffer.seal()
        amendment = self._shards[episode.shard].amendment(columns)
        if amendment is not None:
            episode.shard.amend(amendment)
        hashes = episode.digest.hashes(columns)
        self._write(episode.shard, job, columns, hashes)
        if job.is_whole:
            episode.digest.update_once(columns, hashes)
        else:
            episode.digest.update(columns, hashes)

    def _write_encoded(self, episode: OpenEpisode, job: Block) -> bool:
        """Writes rows that were encoded together with those of other blocks; False if they were not."""
        forms = job.buffer.forms()
        if not forms or not self._is_light(len(job.rows)) or not self._shards[episode.shard].needs_none(forms):
            return False
        encoded = job.buffer.encoded(self._choose)
        if encoded is None:
            return False
        if job.rows.start:
            self._acted |= {field_of(key.path) for key, _, _, first, *_ in encoded.leaves if first < job.rows.start}
        episode.shard.encoded_block(job.episode_id, job.rows, encoded.record)
        self._row_bytes = len(encoded.record) / len(job.rows)
        _add(episode.digest, encoded)
        return True

    def _is_light(self, rows: int) -> bool:
        """Whether a block of so many rows need not be divided."""
        return not self._cut_heavy_blocks or rows * self._row_bytes < HEAVY_BYTES

    def _write(self, shard: ShardWriter, job: Block, columns: Sequence[Column], hashes: Hashes) -> None:
        """Writes rows, in parts if the size of the previous rows suggests that the block is large."""
        self._acted |= acted_fields(job.rows, columns)
        parts = list(rows_of_parts(job.rows, self._row_bytes)) if self._cut_heavy_blocks else [job.rows]
        written = 0
        for rows in parts:
            begin = None if rows.start == job.rows.start else rows.start
            end = None if rows.stop == job.rows.stop else rows.stop
            part = cut(columns, self._acted, begin, end) if len(parts) > 1 else columns
            written += shard.block(job.episode_id, rows, part, self._choose, hashes)
        self._row_bytes = written / len(job.rows)

    def end(self, job: End) -> None:
        """Ends an episode, and closes its shard if that is full and this was its last open episode."""
        episode = self.episodes.pop(job.end.episode_id, None)
        if episode is None:
            return  # a repeated job
        job.end.content_digest = episode.digest.digest(episode.start, job.end)
        self._end(episode, job.end)

    def discard(self, job: Discard) -> None:
        """Ends an episode so that readers leave it out."""
        episode = self.episodes.pop(job.episode_id, None)
        if episode is None:
            return  # a repeated job
        self._end(episode, pb.EpisodeEnd(episode_id=job.episode_id, ending=pb.DISCARDED, rows=job.rows))

    def _end(self, episode: OpenEpisode, end: pb.EpisodeEnd) -> None:
        episode.shard.end(end)
        self._unsynced.add(episode.shard)
        if episode.shard is not self._current and not episode.shard.has_open_episodes:
            self._close(episode.shard)

    def sync(self) -> None:
        """Returns when all written data are durable.

        Raises:
          FileGoneError: a shard was deleted, moved or replaced.
          OSError: the disk is full, or gone.
        """
        for shard in self._shards:
            if shard in self._unsynced:
                shard.sync()
                self._unsynced.discard(shard)
            else:
                shard.require_there()

    @property
    def is_dirty(self) -> bool:
        """Whether there are written data that are not synced."""
        return bool(self._unsynced)

    def rows_gone(self) -> int:
        """The number of written rows that are lost because their open shards were deleted."""
        return sum(shard.rows for shard in self._shards if shard.is_gone)

    def close(self) -> None:
        """Closes every shard with its index and footer."""
        for shard in list(self._shards):
            self._close(shard)

    def abandon(self) -> None:
        """Closes the files without index and footer, as if the process had been killed."""
        for shard in list(self._shards):
            with contextlib.suppress(OSError):  # closing may fail on a network disk; the other files must be closed too
                shard.abandon()
        self._shards.clear()

    def _is_full(self, shard: ShardWriter) -> bool:
        if not shard.episodes:  # though its header may be as large as a full shard
            return False
        return shard.is_full(self._max_bytes) or (
            self._max_episodes is not None and shard.episodes >= self._max_episodes
        )

    def _new_shard(self) -> ShardWriter:
        header = pb.ShardHeader()
        header.CopyFrom(self._header)
        header.shard_id = uuid.uuid4().bytes
        header.writer = f"rlds_kit {__version__}"
        header.created_unix_ns = time.time_ns()
        shard = ShardWriter(next(self._names), header)
        shard.is_gathering = self._is_gathering
        self._shards[shard] = SeenFields(header.spec)
        return shard

    def _close(self, shard: ShardWriter) -> None:
        self._unsynced.discard(shard)
        closed = shard.close()
        self._closed_rows += shard.rows
        del self._shards[shard]
        self._manifest.add(closed)


def _add(digest: EpisodeDigest, encoded: EncodedBlock) -> None:
    if encoded.hashes:
        digest.update_whole(encoded.hashes)
    else:
        digest.update_values(encoded.leaves)
