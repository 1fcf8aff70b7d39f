"""Everything in a shard, every hash checked: the ground that `verify` and `repair` stand on."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from rlds_kit.errors import DamagedError, FormatError
from rlds_kit.riegeli import array_record, chunk
from rlds_kit.riegeli.array_record import Footer
from rlds_kit.riegeli.chunk_reader import Chunk, Truncation, read_chunk
from rlds_kit.riegeli.errors import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli.recovery import ChunkDamage, SkippedRegion
from rlds_kit.storage import block, resync, shard_file
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.contents import SIGNATURE_END, parse_record
from rlds_kit.storage.shard_file import ShardFile
from rlds_kit.upkeep.report import Finding, Meter, uuid_of


@dataclass(frozen=True, slots=True)
class SurveyedBlock:
    """A step block whose header can be trusted.

    Attributes:
      position: of its chunk in the file.
      end: one past the chunk.
      header: what the block says of itself.
      is_intact: whether the hash of the whole chunk matches; if not, some of the columns may still be good.
    """

    position: int
    end: int
    header: pb.BlockHeader
    is_intact: bool


@dataclass(slots=True)
class SurveyedEpisode:
    """The records of one episode, as far as they are there."""

    episode_id: bytes
    start: pb.EpisodeStart | None = None
    start_position: int = 0
    blocks: list[SurveyedBlock] = field(default_factory=list)
    end: pb.EpisodeEnd | None = None
    end_position: int = 0

    @property
    def is_discarded(self) -> bool:
        """Whether readers leave it out."""
        return self.end is not None and self.end.ending == pb.DISCARDED


@dataclass(slots=True)
class Survey:
    """What a shard holds.

    Attributes:
      name: of the file.
      size: its bytes.
      is_locked: whether its writer is alive.
      header: its first record, if that is good.
      amendments: in file order.
      episodes: by id, in the order they are first met.
      chunks: position, decoded size and number of records of each chunk of ours, the index included.
      index: the record, if there is one that is good.
      index_position: of the index; 0 without one.
      footer: of ArrayRecord, if it is good.
      damage: bytes that do not match their hash.
      truncation: the incomplete chunk at the end.
      findings: what is wrong with single records.
    """

    name: str
    size: int
    is_locked: bool
    header: pb.ShardHeader | None = None
    amendments: list[pb.Spec] = field(default_factory=list)
    episodes: dict[bytes, SurveyedEpisode] = field(default_factory=dict)
    chunks: list[tuple[int, int, int]] = field(default_factory=list)
    index: pb.ShardIndex | None = None
    index_position: int = 0
    footer: Footer | None = None
    damage: list[SkippedRegion] = field(default_factory=list)
    truncation: Truncation | None = None
    findings: list[Finding] = field(default_factory=list)


def survey(file: ShardFile, meter: Meter | None = None) -> Survey:
    """Reads all of a shard and checks every hash of it; never raises because of what it finds."""
    return file.sound(lambda: _survey(file, meter), lambda found: not found.damage)


def _survey(file: ShardFile, meter: Meter | None) -> Survey:
    is_locked = file.is_being_written()  # before the size: a chunk that is being written is not damage then
    found = Survey(file.path.name, file.size(), is_locked)
    found.footer = None if is_locked else _footer(file.path)
    known = [] if found.footer is None else [entry.chunk_offset for entry in found.footer.chunks]
    for piece in walk(file, [*known, found.footer.offset] if found.footer else []):
        match piece:
            case Chunk():
                _take(found, file, piece)
                if meter is not None:
                    meter.at(piece.end)
            case SkippedRegion():
                _take_damage(found, file, piece)
            case Truncation():
                found.truncation = piece
    return found


def walk(file: ShardFile, known: list[int]) -> Iterator[Chunk | SkippedRegion | Truncation]:
    """Every chunk of a file in order, what could not be read, and the incomplete chunk at the end."""
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
        return None  # the walk comes upon it again


def _take(found: Survey, file: ShardFile, piece: Chunk) -> None:
    """Takes note of an intact chunk."""
    if piece.header.chunk_type == chunk.SIGNATURE and piece.begin == 0:
        return
    if found.index is not None or (found.footer is not None and piece.begin >= found.footer.offset):
        return  # footer, padding and postscript, which `Footer` stands for
    if piece.header.chunk_type == chunk.PADDING and found.damage:
        return  # of a footer that cannot be trusted
    try:
        _take_record(found, file, piece, file.record_of(piece))
    except (DamagedError, FormatError) as error:
        if not (piece.header.num_records > 1 and found.damage):  # likewise
            found.findings.append(Finding("record", str(error), found.name, piece.begin, piece.end))


def _take_record(found: Survey, file: ShardFile, piece: Chunk, data: bytes) -> None:
    found.chunks.append((piece.begin, len(data), 1))
    if block.is_block(data):
        header = block.parse_prefix(data, file.place(piece.begin)).header
        _episode(found, header.episode_id).blocks.append(SurveyedBlock(piece.begin, piece.end, header, is_intact=True))
        return
    record = parse_record(data, file.place(piece.begin))
    match record.WhichOneof("kind"):
        case "shard" if piece.begin == SIGNATURE_END:
            found.header = record.shard
        case "start":
            _take_start(found, piece, record.start)
        case "end":
            _take_end(found, piece, record.end)
        case "amendment":
            found.amendments.append(record.amendment.spec)
        case "index":
            found.index, found.index_position = record.index, piece.begin
        case kind:
            message = f"expected a record of a known kind in its place, got {kind or 'nothing'}"
            found.findings.append(Finding("record", message, found.name, piece.begin, piece.end))


def _take_start(found: Survey, piece: Chunk, start: pb.EpisodeStart) -> None:
    episode = _episode(found, start.episode_id)
    if episode.start is not None or episode.blocks or episode.end is not None:
        message = "an episode starts a second time, or after its steps"
        found.findings.append(_about(found, piece, start.episode_id, message))
    episode.start, episode.start_position = start, piece.begin


def _take_end(found: Survey, piece: Chunk, end: pb.EpisodeEnd) -> None:
    episode = _episode(found, end.episode_id)
    if episode.end is not None:
        found.findings.append(_about(found, piece, end.episode_id, "an episode ends a second time"))
    episode.end, episode.end_position = end, piece.begin


def _about(found: Survey, piece: Chunk, episode_id: bytes, message: str) -> Finding:
    return Finding("record-order", message, found.name, piece.begin, piece.end, uuid_of(episode_id))


def _take_damage(found: Survey, file: ShardFile, region: SkippedRegion) -> None:
    found.damage.append(region)
    try:
        header = shard_file.read_block_prefix(file, region.begin).header
    except (DamagedError, FormatError):
        return
    blocks_so_far = _episode(found, header.episode_id).blocks
    blocks_so_far.append(SurveyedBlock(region.begin, region.end, header, is_intact=False))


def _episode(found: Survey, episode_id: bytes) -> SurveyedEpisode:
    return found.episodes.setdefault(episode_id, SurveyedEpisode(episode_id))
