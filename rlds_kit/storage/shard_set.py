"""The open shards of one writer: assigns episodes to shards, and closes full shards."""

import contextlib
import operator
import time
import uuid
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from rlds_kit._version import __version__
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import directory as directories
from rlds_kit.storage.amendment import SeenFields
from rlds_kit.storage.block_parts import HEAVY_BYTES, acted_fields, cut, rows_of_parts
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_encoder import Hashes
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.jobs import Block, Discard, End, Parts, Start
from rlds_kit.storage.lane_blocks import EncodedBlock
from rlds_kit.storage.manifest import ManifestWriter
from rlds_kit.storage.part_records import PartRecords, hashes_of, part_records
from rlds_kit.storage.shard_room import ShardRoom
from rlds_kit.storage.shard_writer import ShardWriter


@dataclass(slots=True)
class OpenEpisode:
    """The writer's state of an open episode; `start` is its serialized EpisodeStart."""

    shard: ShardWriter
    start: bytes
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
        self.episodes[job.start.episode_id] = OpenEpisode(shard, job.start.SerializeToString())
        self._unsynced.add(shard)

    def parts(self, parts: Parts) -> None:
        """Writes parts of episodes, as many as possible together."""
        at = 0
        while at < len(parts.ids):
            shard = self._shard_of_next() if parts.starts[at] else self.episodes[parts.ids[at]].shard
            blocks = self._together(shard, parts, at)
            if blocks:
                self._write_together(shard, parts.some(at, at + len(blocks)), blocks)
            else:
                self._write_alone(parts, at)
            at += len(blocks) or 1

    def _together(self, shard: ShardWriter, parts: Parts, at: int) -> Sequence[EncodedBlock | None]:
        """The blocks of the first parts, from one on, that go into a shard together; None: a part has no rows."""
        room, found = ShardRoom(shard, self._max_bytes, self._max_episodes), list[EncodedBlock | None]()
        forms = [] if parts.rows is None else parts.rows.forms()
        can_encode = bool(forms) and self._shards[shard].needs_none(forms)
        if can_encode and not at and (blocks := self._all_together(shard, parts, room)):
            return blocks
        for one in range(at, len(parts.ids)):
            start, end = parts.starts[one], parts.ends[one]
            if not (room.has_any(is_whole=parts.are_whole) if start else self.episodes[parts.ids[one]].shard is shard):
                break
            count, encoded = parts.end_rows[one] - parts.first_rows[one], None
            if count:
                if can_encode and parts.rows is not None and self._is_light(count):
                    encoded = parts.rows.lanes(self._choose).take(parts.numbers[one])
                if encoded is None:
                    break
                self._row_bytes = len(encoded.record) / count
            room.take(start, b"" if encoded is None else encoded.record, end)
            found.append(encoded)
        return found

    def _all_together(self, shard: ShardWriter, parts: Parts, room: ShardRoom) -> Sequence[EncodedBlock]:
        """The blocks of all parts, if it takes little to find that they go into a shard together; else none."""
        counts = [*map(operator.sub, parts.end_rows, parts.first_rows)]
        begun = (episode_id for episode_id, start in zip(parts.ids, parts.starts, strict=True) if not start)
        are_here = all(self.episodes[episode_id].shard is shard for episode_id in begun)
        if parts.rows is None or not are_here or not all(counts) or not self._is_light(counts[0]):
            return ()
        lanes = parts.rows.lanes(self._choose)
        sizes = lanes.sizes(parts.numbers)
        messages = sum(map(len, parts.starts)) + sum(map(len, parts.ends))
        if not sizes or not room.has_all(sum(map(bool, parts.starts)), len(sizes), messages + sum(sizes)):
            return ()
        heaviest = max(self._row_bytes, *map(operator.truediv, sizes, counts))
        if self._cut_heavy_blocks and max(counts) * heaviest >= HEAVY_BYTES:
            return ()
        self._row_bytes = sizes[-1] / counts[-1]
        return lanes.take_all(parts.numbers)

    def _write_together(self, shard: ShardWriter, parts: Parts, blocks: Sequence[EncodedBlock | None]) -> None:
        """Writes parts of episodes with these blocks into a shard."""
        self._unsynced.add(shard)
        records = [b"" if each is None else each.record for each in blocks]
        if parts.are_whole:
            hashes, starts = [b"" if each is None else hashes_of(each) for each in blocks], parts.starts
        else:
            hashes, starts = self._continue(shard, parts, blocks)
        made = PartRecords(*part_records(hashes, starts, records, parts.ends, bytes(map(bool, parts.starts))))
        shard.parts(parts, made)
        self._close_last(shard)

    def _continue(
        self, shard: ShardWriter, parts: Parts, blocks: Sequence[EncodedBlock | None]
    ) -> tuple[list[bytes], list[bytes]]:
        """Adds blocks to the digests of their episodes; returns the hashes of those that end, and all starts."""
        episodes = [
            OpenEpisode(shard, start) if start else self.episodes[episode_id]
            for episode_id, start in zip(parts.ids, parts.starts, strict=True)
        ]
        self._add([(episode, each) for episode, each in zip(episodes, blocks, strict=True) if each is not None])
        for episode_id, episode, start, end in zip(parts.ids, episodes, parts.starts, parts.ends, strict=True):
            if start:
                self.episodes[episode_id] = episode
            if end:
                del self.episodes[episode_id]
        hashes = [
            episode.digest.hashes_of_leaves() if end else b"" for episode, end in zip(episodes, parts.ends, strict=True)
        ]
        return hashes, [episode.start for episode in episodes]

    def _add(self, blocks: Sequence[tuple[OpenEpisode, EncodedBlock]]) -> None:
        """Adds blocks that were encoded together to the digests of their episodes."""
        if not blocks:
            return
        lanes, numbers = blocks[0][1].lanes, [encoded.number for _, encoded in blocks]
        self._acted |= lanes.acted_fields(numbers, self._acted)
        lanes.add_values(numbers, [episode.digest for episode, _ in blocks])

    def _write_alone(self, parts: Parts, at: int) -> None:
        """Writes a part of an episode that cannot be written with others."""
        rows, start, end = range(parts.first_rows[at], parts.end_rows[at]), parts.starts[at], parts.ends[at]
        if start:
            self.start(Start(pb.EpisodeStart.FromString(start)))
        if parts.rows is not None and rows:
            self.block(Block(parts.ids[at], rows, parts.rows.part(parts.numbers[at]), parts.are_whole))
        if end:
            self.end(End(pb.EpisodeEnd.FromString(end)))

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
        episode.shard.encoded_block(job.episode_id, job.rows, encoded.record)
        self._row_bytes = len(encoded.record) / len(job.rows)
        if encoded.hashes:
            episode.digest.update_whole(encoded.hashes)
        else:
            self._add([(episode, encoded)])
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
        job.end.content_digest = episode.digest.digest_of(episode.start, job.end.SerializeToString())
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
        self._close_last(episode.shard)

    def _close_last(self, shard: ShardWriter) -> None:
        """Closes a shard whose last open episode has ended, and which gets no new ones."""
        if shard is not self._current and not shard.has_open_episodes:
            self._close(shard)

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
