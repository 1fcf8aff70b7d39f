"""Reads everything in a shard and checks every hash, for `verify` and `repair`."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.progress import Meter
from rlds_kit.riegeli import array_record, chunk
from rlds_kit.riegeli.array_record import Footer
from rlds_kit.riegeli.chunk_reader import Chunk, Truncation, read_chunk
from rlds_kit.riegeli.errors import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli.recovery import ChunkDamage, SkippedRegion
from rlds_kit.storage import block, resync, shard_file
from rlds_kit.storage.block import parse_whole_prefix
from rlds_kit.storage.contents import parse_record
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.storage.shard_index import ShardIndex
from rlds_kit.storage.sightings import SightedBlock, SightedEpisode, Sightings
from rlds_kit.tools.upkeep.finding import Finding


@dataclass(slots=True)
class Survey:
    """The content of a shard.

    Attributes:
      name: of the file.
      size: its bytes.
      is_locked: whether its writer is alive.
      header: its first record, if that is intact.
      amendments: in file order.
      episodes: by id, in the order of their first records.
      chunks: position, decoded size and number of records of each of our chunks, including the index.
      index: the record, if it is intact.
      index_position: of the index; 0 without one.
      footer: of ArrayRecord, if it is intact.
      damage: bytes that do not match their hash.
      truncation: the incomplete chunk at the end.
      findings: problems of single records.
    """

    name: str
    size: int
    is_locked: bool
    header: pb.ShardHeader | None = None
    amendments: list[pb.Spec] = field(default_factory=list)
    episodes: dict[bytes, SightedEpisode] = field(default_factory=dict)
    chunks: list[tuple[int, int, int]] = field(default_factory=list)
    index: ShardIndex | None = None
    index_position: int = 0
    footer: Footer | None = None
    damage: list[SkippedRegion] = field(default_factory=list)
    truncation: Truncation | None = None
    findings: list[Finding] = field(default_factory=list)


def survey(file: ShardFile, meter: Meter | None = None) -> Survey:
    """Reads all of a shard and checks every hash; problems are returned, not raised."""
    return file.sound(lambda: _survey(file, meter), lambda found: not found.damage)


def _survey(file: ShardFile, meter: Meter | None) -> Survey:
    is_locked = file.is_being_written()  # before the size: a chunk that is being written is not damage then
    found, sightings = Survey(file.path.name, file.size(), is_locked), Sightings(file.path)
    found.footer = None if is_locked else _footer(file.path)
    known = [] if found.footer is None else [entry.chunk_offset for entry in found.footer.chunks]
    for piece in walk(file, [*known, found.footer.offset] if found.footer else []):
        match piece:
            case Chunk():
                _take(found, sightings, file, piece)
                if meter is not None:
                    meter.at(piece.end)
            case SkippedRegion():
                _take_damage(found, sightings, file, piece)
            case Truncation():
                found.truncation = piece
    sightings.finish(found.damage)
    found.header, found.amendments, found.episodes = sightings.header, sightings.amendments, sightings.episodes
    found.index, found.index_position = sightings.index, sightings.index_position
    found.findings += [
        Finding("record", region.message, found.name, region.begin, region.end) for region in sightings.refused
    ]
    return found


def walk(file: ShardFile, known: list[int]) -> Iterator[Chunk | SkippedRegion | Truncation]:
    """Every chunk of a file in order, the unreadable regions, and the incomplete chunk at the end."""
    position = 0
    while True:
        try:
            piece = read_chunk(file, position)
        except ChunkDamage as damage:
            end = resync.next_chunk(file, damage, known)
            yield SkippedRegion(position, end, damage.message)
            position = end
            continue
        if piece is None:
            return
        yield piece
        if isinstance(piece, Truncation):
            return
        position = piece.end


def _footer(path: Path) -> Footer | None:
    try:
        with path.open("rb") as file:
            return array_record.read_footer(file)
    except RiegeliDamagedError:
        return None  # the loop reports it again


def _take(found: Survey, sightings: Sightings, file: ShardFile, piece: Chunk) -> None:
    """Records an intact chunk."""
    header = piece.header
    if header.chunk_type == chunk.SIGNATURE and piece.begin == 0:
        return
    if sightings.index is not None or (found.footer is not None and piece.begin >= found.footer.offset):
        return  # footer, padding and postscript, which `Footer` represents
    if found.damage and (header.chunk_type == chunk.PADDING or header.num_records != 1):
        return  # of a damaged footer
    try:
        data = file.record_of(piece)
        found.chunks.append((piece.begin, len(data), 1))
        if block.is_block(data):
            prefix = parse_whole_prefix(data, file.place(piece.begin))
            sightings.block(SightedBlock(piece.begin, piece.end, prefix.header))
        else:
            sightings.record(parse_record(data, file.place(piece.begin)), piece.begin, piece.end)
    except (DamagedError, FormatError) as error:
        sightings.refuse(piece.begin, piece.end, str(error))


def _take_damage(found: Survey, sightings: Sightings, file: ShardFile, region: SkippedRegion) -> None:
    found.damage.append(region)
    with contextlib.suppress(DamagedError, FormatError):
        header = shard_file.read_block_prefix(file, region.begin).header
        sightings.block(SightedBlock(region.begin, region.end, header, is_intact=False))
