"""What is in a shard: from its index if it was closed, else by a scan of its chunks."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from google.protobuf.message import DecodeError

from rlds_kit.errors import DamagedError, FormatError
from rlds_kit.riegeli import chunk
from rlds_kit.riegeli.array_record import last_chunk
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import Truncation, read_header
from rlds_kit.riegeli.errors import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli.recovery import ChunkDamage, SkippedRegion
from rlds_kit.storage import block, resync
from rlds_kit.storage import episode_entry as entries
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.episode_entry import EpisodeBuilder, EpisodeEntry
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix, read_prefix

SIGNATURE_END: Final = 64


@dataclass(frozen=True, slots=True)
class ShardContents:
    """What one look at a shard found.

    Attributes:
      header: its first record; None when that is damaged and there is no index.
      amendments: the specs of undeclared fields, in file order.
      episodes: in the order of their starts, discarded ones left out.
      skipped: damaged bytes that the scan went over.
      truncation: the incomplete chunk at the end, if there is one.
      is_indexed: whether the index was used.
      is_locked: whether its writer was alive.
    """

    header: pb.ShardHeader | None
    amendments: tuple[pb.Spec, ...]
    episodes: tuple[EpisodeEntry, ...]
    skipped: tuple[SkippedRegion, ...] = ()
    truncation: Truncation | None = None
    is_indexed: bool = False
    is_locked: bool = False


def contents(file: ShardFile) -> ShardContents:
    """Finds out what is in a shard, in one read of its tail where that is possible.

    Raises:
      FormatError: it is no rlds_kit shard, or of a newer major version.
    """
    return file.sound(lambda: _contents(file), lambda found: not found.skipped)


def _contents(file: ShardFile) -> ShardContents:
    # Asked before the scan: of a writer that closes in between everything is found, its lock counts as held.
    is_locked = file.is_being_written()
    index = None if is_locked else read_index(file)
    if index is None:
        if file.remote is not None:
            file.remote.fetch_all()
        return scan(file, is_locked=is_locked)
    return ShardContents(
        header=index.header,
        amendments=tuple(index.amendments),
        episodes=tuple(
            entries.from_index(entry) for entry in index.episodes if entry.ending != pb.DISCARDED and entry.rows
        ),
        is_indexed=True,
    )


def read_index(file: ShardFile) -> pb.ShardIndex | None:
    """The index of a closed shard; None when there is none that can be trusted."""
    try:
        position = file.sound(lambda: last_chunk(file))
        if position is None:
            return None
        record = parse_record(file.record(position), file.place(position))
    except (RiegeliDamagedError, DamagedError):
        return None
    if record.WhichOneof("kind") != "index" or record.index.data_end != position:
        return None
    return record.index if _fits(file, record.index) else None


def _fits(file: ShardFile, index: pb.ShardIndex) -> bool:
    """Whether the index is this shard's own: a copy of another shard's would name wrong places."""
    try:
        first = parse_record(file.record(SIGNATURE_END), file.place(SIGNATURE_END))
    except DamagedError:
        return True  # then each block's own episode id and rows decide, when it is read
    return bool(first.shard.shard_id == index.shard_id)


def parse_record(data: bytes, place: object) -> pb.Record:
    """A record from its bytes.

    Raises:
      FormatError: it is no record of ours, or of a newer major version.
    """
    block.is_block(data)  # checks the version
    try:
        return pb.Record.FromString(data)
    except DecodeError as error:
        raise FormatError(f"{place}: expected an rlds_kit record: the file is no rlds_kit shard") from error


class _Scan:
    """Goes through a shard chunk by chunk, reading little more than headers."""

    def __init__(self, file: ShardFile) -> None:
        self.file = file
        self.header: pb.ShardHeader | None = None
        self.amendments: list[pb.Spec] = []
        self.episodes: dict[bytes, EpisodeBuilder] = {}
        self.skipped: list[SkippedRegion] = []
        self.truncation: Truncation | None = None

    def run(self) -> None:
        """Takes note of every chunk that is whole."""
        for position, header in self._chunks():
            if header.chunk_type == chunk.SIMPLE:
                if header.num_records != 1 and self.skipped:
                    return  # the footer, after a damaged index
                try:
                    if self._take_checked(position):
                        return
                except DamagedError as error:
                    self._skip(position, header.end(position), error.message)

    def _chunks(self) -> Iterator[tuple[int, ChunkHeader]]:
        position = 0
        while True:
            try:
                header = read_header(self.file, position)
            except ChunkDamage as damage:
                resumed = resync.next_chunk(self.file, damage)
                self._skip(position, resumed, damage.message)
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

    def _take_checked(self, position: int) -> bool:
        try:
            return self._take(position)
        except FormatError:
            self.file.chunk(position)  # raises DamagedError if a flipped bit made it look like another format
            raise

    def _take(self, position: int) -> bool:
        """Takes note of one record; True at the index, after which nothing of ours follows."""
        _, __, head = read_prefix(self.file, position)
        if block.is_block(head):
            header = read_block_prefix(self.file, position).header
            self._episode(header.episode_id).add_block(position, header)
            return False
        record = parse_record(self.file.record(position), self.file.place(position))
        kind = str(record.WhichOneof("kind"))
        match kind:
            case "shard":
                self.header = record.shard
            case "start":
                self._episode(record.start.episode_id).start = position
            case "end":
                episode = self._episode(record.end.episode_id)
                episode.end, episode.end_position = record.end, position
            case "amendment":
                self.amendments.append(record.amendment.spec)
        return kind == "index"

    def _episode(self, episode_id: bytes) -> EpisodeBuilder:
        return self.episodes.setdefault(episode_id, EpisodeBuilder(episode_id))

    def _skip(self, begin: int, end: int, message: str) -> None:
        self.skipped.append(SkippedRegion(begin, end, message))
        for episode in self.episodes.values():
            episode.is_cut = True


def scan(file: ShardFile, *, is_locked: bool = False) -> ShardContents:
    """Finds out what is in a shard without its index.

    Raises:
      FormatError: it is no rlds_kit shard, or of a newer major version.
    """
    found = _Scan(file)
    found.run()
    return ShardContents(
        header=found.header,
        amendments=tuple(found.amendments),
        episodes=tuple(
            episode.entry()
            for episode in found.episodes.values()
            if episode.blocks and (episode.end is None or episode.end.ending != pb.DISCARDED)
        ),
        skipped=tuple(found.skipped),
        truncation=found.truncation,
        is_locked=is_locked,
    )
