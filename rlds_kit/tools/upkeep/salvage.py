"""Plans the repair of one episode: which blocks and columns are intact, and which steps remain.

Steps are renumbered from 0. If steps are missing, no transition may cross the gap: the action of the step before the
gap was stored with the step after it and is lost, and values of a lost step in the block after the gap are left out.
`step_index` then has every step's number in the original.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np
import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.step import ACTED_FIELDS, STEP_INDEX
from rlds_kit.storage import block as blocks
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey, field_of
from rlds_kit.storage.shard_file import ShardFile, read_block_prefix, read_payload
from rlds_kit.storage.sightings import SightedBlock, SightedEpisode
from rlds_kit.tools.upkeep.repaired import Span

_STEP_INDEX_KEY = ColumnKey(STEP_INDEX, pb.INT, None, 0)


@dataclass(frozen=True, slots=True)
class Piece:
    """A block to copy.

    Attributes:
      block: of the original.
      first: the number of its first step in the copy.
      good: numbers of the columns that match their checksums.
      after_gap: whether steps before it are missing.
      before_gap: whether steps after it are missing.
    """

    block: SightedBlock
    first: int
    good: tuple[int, ...]
    after_gap: bool
    before_gap: bool

    @property
    def rows(self) -> range:
        """The steps of the block in the copy."""
        return range(self.first, self.first + self.block.header.end_row - self.block.header.first_row)


@dataclass(slots=True)
class Plan:
    """How to copy an episode.

    Attributes:
      pieces: its blocks.
      lost_steps: `(first, end)` in the original.
      lost_fields: in steps of the original.
      undefined: the same fields, and those lost at gaps, in steps of the copy.
      add_step_index: whether every row gets one.
      rows: steps in the copy.
    """

    pieces: list[Piece] = field(default_factory=list)
    lost_steps: list[tuple[int, int]] = field(default_factory=list)
    lost_fields: list[Span] = field(default_factory=list)
    undefined: list[Span] = field(default_factory=list)
    add_step_index: bool = False
    rows: int = 0

    @property
    def is_changed(self) -> bool:
        """Whether the steps of the copy differ from those of the original."""
        return bool(self.lost_steps or self.lost_fields)

    def moved(self, spans: Iterable[Span]) -> Iterator[Span]:
        """Converts spans in steps of the original to spans in steps of the copy."""
        for span in spans:
            for piece in self.pieces:
                header = piece.block.header
                begin, end = max(span.begin, header.first_row), min(span.end, header.end_row)
                if begin < end:
                    shift = piece.first - header.first_row
                    yield Span(span.path, begin + shift, end + shift)


def plan(file: ShardFile, episode: SightedEpisode, rows: int) -> Plan:
    """Plans the copy of an episode, which had `rows` steps as far as is known."""
    made = Plan()
    usable = [(block, good) for block in episode.blocks if _has_steps(block, good := good_columns(file, block))]
    acted = _acted_fields(episode.blocks)
    at = 0  # in the original
    for index, (block, good) in enumerate(usable):
        header = block.header
        if header.first_row < at:
            continue  # repeated steps: not a result of damage
        after_gap = header.first_row > at
        if after_gap:
            _lose_steps(made, at, header.first_row, acted)
        following = usable[index + 1][0].header.first_row if index + 1 < len(usable) else max(rows, header.end_row)
        made.pieces.append(Piece(block, made.rows, good, after_gap, following > header.end_row))
        _lose_columns(made, made.pieces[-1])
        made.rows += header.end_row - header.first_row
        at = header.end_row
    made.add_step_index = bool(made.lost_steps) and not _has_step_index(episode.blocks)
    if rows > at:
        _lose_steps(made, at, rows, acted)
    return made


def good_columns(file: ShardFile, block: SightedBlock) -> tuple[int, ...]:
    """The numbers of the columns that match their checksum."""
    base = read_block_prefix(file, block.position).payload_base
    return tuple(
        number for number, header in enumerate(block.header.columns) if _payload(file, block, base, header) is not None
    )


def _payload(file: ShardFile, block: SightedBlock, base: int, header: pb.Column) -> bytes | memoryview | None:
    try:
        payload = read_payload(file, block.position, base + header.offset, header.length)
    except DamagedError:
        return None
    return payload if xxhash.xxh3_64_intdigest(payload) == header.xxh3 else None


def _has_steps(block: SightedBlock, good: Sequence[int]) -> bool:
    """Whether a value of the block's own steps is intact, and not only values of the step before them.

    Also true if its own steps never had a value, as in the last block of an episode without a final observation, if the
    previous block ended just before that.
    """
    header = block.header
    own = {number for number, each in enumerate(header.columns) if each.first_row + each.count > header.first_row}
    return not own or not own.isdisjoint(good)


def _acted_fields(all_blocks: Sequence[SightedBlock]) -> tuple[str, ...]:
    """Fields of the action side: those that blocks have for the step before their own."""
    return tuple(
        dict.fromkeys(
            field_of(header.path)
            for block in all_blocks
            for header in block.header.columns
            if header.first_row < block.header.first_row or field_of(header.path) in ACTED_FIELDS
        )
    )


def _has_step_index(all_blocks: Sequence[SightedBlock]) -> bool:
    return any(field_of(header.path) == STEP_INDEX for block in all_blocks for header in block.header.columns)


def _lose_steps(made: Plan, first: int, end: int, acted: Sequence[str]) -> None:
    made.lost_steps.append((first, end))
    if made.rows and first:
        made.undefined += [Span(name, made.rows - 1, made.rows) for name in acted]
        made.lost_fields += [Span(name, first - 1, first) for name in acted]


def _lose_columns(made: Plan, piece: Piece) -> None:
    shift = piece.first - piece.block.header.first_row
    for number, header in enumerate(piece.block.header.columns):
        begin, end = header.first_row, header.first_row + header.count
        if number not in piece.good:
            begin += piece.after_gap and begin < piece.block.header.first_row
            if begin < end:
                made.lost_fields.append(Span(header.path, begin, end))
                made.undefined.append(Span(header.path, begin + shift, end + shift))


def record(file: ShardFile, piece: Piece, episode_id: bytes, choose: FilterChoice, *, add_step_index: bool) -> bytes:
    """The bytes of a block of the copy: those of the original if nothing changes.

    Columns are decoded only to remove values that would cross a gap.
    """
    header = piece.block.header
    unchanged = piece.first == header.first_row and len(piece.good) == len(header.columns)
    if unchanged and piece.block.is_intact and not (piece.after_gap or piece.before_gap or add_step_index):
        return file.record(piece.block.position)
    base = read_block_prefix(file, piece.block.position).payload_base
    pairs = []
    for number in piece.good:
        pairs += _pair(file, piece, header.columns[number], base, choose)
    if add_step_index:
        steps = np.arange(header.first_row, header.end_row, dtype=np.int64)
        pairs.append(column_encoder.encode(Column(_STEP_INDEX_KEY, np.array(piece.rows, np.int64), steps), choose))
    new_header = pb.BlockHeader(episode_id=episode_id, first_row=piece.rows.start, end_row=piece.rows.stop)
    return blocks.assemble(new_header, pairs)


def _pair(
    file: ShardFile, piece: Piece, header: pb.Column, base: int, choose: FilterChoice
) -> list[tuple[pb.Column, bytes | memoryview]]:
    """A column of the copy; None if no values remain."""
    block = piece.block.header
    shift = piece.first - block.first_row
    payload = read_payload(file, piece.block.position, base + header.offset, header.length)
    begin = block.first_row if piece.after_gap else block.first_row - 1
    end = block.end_row - (piece.before_gap and field_of(header.path) in ACTED_FIELDS)
    if begin <= header.first_row and header.first_row + header.count <= end:
        moved = pb.Column()
        moved.CopyFrom(header)
        moved.first_row += shift
        return [(moved, payload)]
    place = file.place(piece.block.position)
    column = columns.decode(layout_of(header, place), payload, place).between(begin, end)
    if not len(column.rows):
        return []
    return [column_encoder.encode(Column(column.key, column.rows + shift, column.values, column.shapes), choose)]
