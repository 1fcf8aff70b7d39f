"""Reads the content of a shard: from its index if it was closed, else by a scan of its chunks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.riegeli import chunk
from rlds_kit.riegeli.array_record import last_chunk
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import Truncation, read_header
from rlds_kit.riegeli.errors import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli.recovery import ChunkDamage, SkippedRegion
from rlds_kit.storage import block, resync
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_table import EpisodeTable, table_of
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix, read_prefix
from rlds_kit.storage.shard_index import ShardIndex, parse_index
from rlds_kit.storage.sightings import SIGNATURE_END, SightedBlock, Sightings

_FEW: Final = 3
"""Number of episodes that are checked if the index contradicts the shard's header."""


@dataclass(frozen=True, slots=True)
class ShardContents:
    """The content of a shard at one moment.

    Attributes:
      header: its first record; None when that is damaged and there is no index.
      amendments: the specs of undeclared fields, in file order.
      episodes: in the order of their starts, discarded ones left out.
      metadata: the spec that the metadata of all episodes fit; None if it is not known.
      skipped: damaged bytes that the scan skipped.
      truncation: the incomplete chunk at the end, if there is one.
      is_indexed: whether the index was used.
      is_locked: whether its writer owned the lock.
    """

    header: pb.ShardHeader | None
    amendments: tuple[pb.Spec, ...]
    episodes: EpisodeTable
    metadata: specs.Spec | None = None
    skipped: tuple[SkippedRegion, ...] = ()
    truncation: Truncation | None = None
    is_indexed: bool = False
    is_locked: bool = False


def contents(file: ShardFile) -> ShardContents:
    """Reads the content of a shard, with one read of its tail if possible.

    Raises:
      FormatError: it is no rlds_kit shard, or of a newer major version.
    """
    return file.sound(lambda: _contents(file), lambda found: not found.skipped)


def _contents(file: ShardFile) -> ShardContents:
    # Tested before the scan: if a writer closes in between, everything is found, and its lock counts as locked.
    is_locked = file.is_being_written()
    index = None if is_locked else read_index(file)
    if index is None:
        if file.remote is not None:
            file.remote.fetch_all()
        return scan(file, is_locked=is_locked)
    return ShardContents(
        header=index.header,
        amendments=index.amendments,
        episodes=index.episodes.listed(),
        metadata=index.metadata,
        is_indexed=True,
    )


def read_index(file: ShardFile) -> ShardIndex | None:
    """The index of a closed shard; None if there is none, or it is not valid."""
    try:
        position = file.sound(lambda: last_chunk(file))
        if position is None:
            return None
        record = parse_record(file.record(position), file.place(position))
    except (RiegeliDamagedError, DamagedError, FormatError):
        return None  # nothing else of a newer version can be read either: the scan raises the error
    if record.WhichOneof("kind") != "index":
        return None
    try:
        index = parse_index(record.index, file.place(position))
    except DamagedError:
        return None
    return index if index.data_end == position and _fits(file, index) else None


def _fits(file: ShardFile, index: ShardIndex) -> bool:
    """Whether the index belongs to this shard: a copy of another index would have wrong positions."""
    try:
        first = parse_record(file.record(SIGNATURE_END), file.place(SIGNATURE_END))
    except (DamagedError, FormatError):
        return True  # each block's episode id and rows are checked again when it is read
    if first.WhichOneof("kind") != "shard" or first.shard.shard_id == index.shard_id:
        return True
    return any(_starts_there(file, entry) for entry in index.episodes[:_FEW])  # else the index is foreign


def _starts_there(file: ShardFile, entry: EpisodeEntry) -> bool:
    try:
        record = parse_record(file.record(entry.start), file.place(entry.start))
    except (DamagedError, FormatError):
        return False
    return record.WhichOneof("kind") == "start" and record.start.episode_id == entry.episode_id


def parse_record(data: bytes, place: object) -> pb.Record:
    """A record from its bytes.

    Raises:
      FormatError: it is not a record of rlds_kit, or has a newer major version.
    """
    try:
        block.is_block(data)  # checks the version
    except FormatError as error:
        raise FormatError(f"{place}: {error}") from error
    try:
        return pb.Record.FromString(data)
    except DecodeError as error:
        raise FormatError(f"{place}: expected an rlds_kit record: the file is no rlds_kit shard") from error


class _Scan:
    """Scans a shard chunk by chunk, reading little more than headers."""

    def __init__(self, file: ShardFile) -> None:
        self.file = file
        self.found = Sightings(file.path)
        self.skipped: list[SkippedRegion] = []
        self.truncation: Truncation | None = None

    def run(self) -> None:
        """Records every intact chunk.

        Raises:
          FormatError: there are chunks, but none of rlds_kit.
        """
        foreign: FormatError | None = None
        for position, header in self._chunks():
            end = header.end(position)
            try:
                if self._take(position, end, header):
                    break
            except FormatError as error:
                foreign = foreign or error
                self.found.refuse(position, end, str(error))
            except DamagedError as error:
                self.found.refuse(position, end, error.message)
        if foreign is not None and not self.found.has_any:
            raise foreign
        self.found.finish(self.skipped)

    def _chunks(self) -> Iterator[tuple[int, ChunkHeader]]:
        position = 0
        while True:
            try:
                header = read_header(self.file, position)
            except ChunkDamage as damage:
                resumed = resync.next_chunk(self.file, damage)
                self.skipped.append(SkippedRegion(position, resumed, damage.message))
                position = resumed
                continue
            if header is None:
                return
            if isinstance(header, Truncation):
                self.truncation = header
                return
            end = header.end(position)
            if not self.file.reaches(end):
                self.truncation = Truncation(position, self.file.size() - position, end - position)
                return
            yield position, header
            position = end

    def _take(self, position: int, end: int, header: ChunkHeader) -> bool:
        """Records a chunk; True at the index, which is our last record."""
        if header.chunk_type == chunk.SIGNATURE and position == 0:
            return False
        if self.skipped and (header.chunk_type == chunk.PADDING or header.num_records != 1):
            return False  # the footer and what is around it, after a damaged index
        try:
            return self._take_record(position, end)
        except FormatError:
            self.file.chunk(position)  # raises DamagedError if a flipped bit changed its format
            raise

    def _take_record(self, position: int, end: int) -> bool:
        _, __, head = read_prefix(self.file, position)
        if block.is_block(head):
            self.found.block(SightedBlock(position, end, read_block_prefix(self.file, position).header))
            return False
        record = parse_record(self.file.record(position), self.file.place(position))
        return self.found.record(record, position, end)


def scan(file: ShardFile, *, is_locked: bool = False) -> ShardContents:
    """Reads the content of a shard without its index.

    Raises:
      FormatError: it is no rlds_kit shard, or of a newer major version.
    """
    scanned = _Scan(file)
    scanned.run()
    found = scanned.found
    return ShardContents(
        header=found.header,
        amendments=tuple(found.amendments),
        episodes=table_of(each.entry() for each in found.episodes.values() if each.blocks and not each.is_discarded),
        skipped=tuple(sorted((*scanned.skipped, *found.refused), key=lambda region: region.begin)),
        truncation=scanned.truncation,
        is_locked=is_locked,
    )
