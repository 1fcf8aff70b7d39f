"""Encodes and decodes step blocks: a checksummed header, then one payload per column that can be read alone.

A block is a `Record` whose `StepBlock` is laid out by hand: field 1 (header), field 2 (its XXH3-64), then the payloads.
Any protobuf library reads the same bytes.
"""

import functools
import sys
from collections.abc import Callable, Container, Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

import numpy as np
import xxhash
from google.protobuf.message import DecodeError

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.extension import extension
from rlds_kit.riegeli import errors as riegeli_errors
from rlds_kit.riegeli import varint
from rlds_kit.storage import block_header, column_encoder
from rlds_kit.storage import column as columns
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_encoder import NO_HASHES, Hashes
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.plausible import ID_BYTES

MAJOR_VERSION: Final = 1
Part: TypeAlias = tuple[bytes, int, bytes | memoryview]
"""An encoded column; see `join_in_python`."""
LaneFields: TypeAlias = tuple[bytes, bytes, np.ndarray, bytes, bytes]
"""A column of many blocks: its fields from `block_header.before_rows` and `after_rows`, its bytes, its zstd frames, and
the `table` of `lane_pieces.Pieces`."""
_STORED: Final = 8
"""Numbers in a row of such a table."""

_VERSION_TAG: Final = b"\x08"  # Record.version, varint
_VERSION: Final = _VERSION_TAG + varint.encode(MAJOR_VERSION)
_BLOCK_TAG: Final = b"\x22"  # Record.block, length-delimited
_HEADER_TAG: Final = b"\x0a"  # StepBlock.header, length-delimited
_HASH_TAG: Final = b"\x11"  # StepBlock.header_xxh3, fixed64
_PAYLOAD_TAG: Final = b"\x1a"  # StepBlock.payload, length-delimited

START: Final = b"\x1a"
"""Record.start, length-delimited."""
END: Final = b"\x2a"
"""Record.end, likewise."""

PREFIX_BYTES: Final = 4096
"""Bytes of a block that very likely contain its whole header."""


@dataclass(frozen=True, slots=True)
class BlockPrefix:
    """A block's header, and where in the record its payloads begin."""

    header: pb.BlockHeader
    payload_base: int


class PrefixTooShortError(Exception):
    """The header is longer than the given bytes; `needed` bytes are required."""

    def __init__(self, needed: int) -> None:
        super().__init__(needed)
        self.needed = needed


def encode(
    episode_id: bytes, rows: range, block: Sequence[Column], choose: FilterChoice, hashes: Hashes = NO_HASHES
) -> bytes:
    """The record of a block.

    Args:
      episode_id: 16 bytes.
      rows: the steps whose observations are in the block. The action of a step is stored with the next observation, so
        columns may begin one row earlier.
      block: its columns.
      choose: chooses the filters, and remembers earlier choices.
      hashes: to add the values of some of the columns to.
    """
    parts = []
    for column, packed in zip(block, column_encoder.pack(block, choose, hashes), strict=True):
        first_row, covered, filter_, codec, decoded_length, payload = packed
        shape = None if column.shapes is not None else column.values.shape[1:]
        is_partial = len(column.rows) != covered
        fields = block_header.layout(column.key, first_row, covered, is_partial, shape, filter_, codec)
        parts.append((fields, decoded_length, payload))
    return join(episode_id, rows.start, rows.stop, parts)


def join_in_python(episode_id: bytes, first_row: int, end_row: int, parts: list[Part]) -> bytes:
    """The record of a block from its encoded columns.

    Args:
      episode_id: 16 bytes.
      first_row: the first step whose observation is in the block.
      end_row: one past the last.
      parts: of each column the fields from `block_header.layout`, the bytes of its payload without compression, and
        the payload.
    """
    offset, payloads = 0, list[bytes | memoryview]()
    header = [block_header.head(episode_id, first_row, end_row)]
    for fields, decoded_length, payload in parts:
        lead = _PAYLOAD_TAG + varint.encode(len(payload))
        offset += len(lead)
        checksum = xxhash.xxh3_64_digest(payload)[::-1]  # big-endian, and little-endian on disk
        header.append(block_header.entry(fields, offset, len(payload), decoded_length, checksum))
        offset += len(payload)
        payloads += (lead, payload)
    return _joined(b"".join(header), offset, payloads)


def join_lanes_in_python(ids: bytes, rows: np.ndarray, columns: list[LaneFields], numbers: np.ndarray) -> list[bytes]:
    """The records of some of the blocks whose columns were encoded together.

    Args:
      ids: of their episodes, 16 bytes each.
      rows: `[all, 2]` int64, the first step whose observation is in a block, and one past the last, of all blocks.
      columns: of all blocks; those without rows in a block are left out there.
      numbers: `[blocks]` int64, which blocks.

    Raises:
      ValueError: a payload is not in the bytes of its column.
    """
    found = []
    for at, number in enumerate(numbers.tolist()):
        first_row, end_row = rows[number].tolist()
        parts = list[Part]()
        for before, after, data, frames, table in columns:
            stored = np.frombuffer(table, np.int64).reshape(-1, _STORED)[number]
            first, count, filter_, codec, decoded, in_frames, begin, size = stored.tolist()
            payload = (memoryview(frames) if in_frames else data.data)[begin : begin + size]
            if begin < 0 or len(payload) != size:
                raise ValueError(f"expected the places of {len(numbers)} payloads in {len(data)} bytes")
            if not count:
                continue
            parts.append((block_header.between(before, first, count, after, filter_, codec), decoded, payload))
        found.append(join_in_python(ids[ID_BYTES * at : ID_BYTES * (at + 1)], first_row, end_row, parts))
    return found


native: Final = extension("rlds_kit.storage", "_blocks") if sys.byteorder == "little" else None
join_lanes: Final[Callable[[bytes, np.ndarray, list[LaneFields], np.ndarray], list[bytes]]] = (
    join_lanes_in_python if native is None else native.join_lanes
)
join: Final[Callable[[bytes, int, int, list[Part]], bytes]] = join_in_python if native is None else native.join


def assemble(header: pb.BlockHeader, pairs: Sequence[tuple[pb.Column, bytes | memoryview]]) -> bytes:
    """The record of a block from encoded columns; sets their offsets and adds them to `header`."""
    offset, payloads = 0, []
    for column, payload in pairs:
        lead = _PAYLOAD_TAG + varint.encode(len(payload))
        column.offset = offset + len(lead)
        offset += len(lead) + len(payload)
        payloads += [lead, payload]
    header.columns.extend(column for column, _ in pairs)
    return _joined(header.SerializeToString(), offset, payloads)


def _joined(data: bytes, payload_bytes: int, payloads: Sequence[bytes | memoryview]) -> bytes:
    """The record of a block from its header and its payloads, each after its tag and length."""
    checksum = xxhash.xxh3_64_intdigest(data).to_bytes(8, "little")
    head = _HEADER_TAG + varint.encode(len(data)) + data + _HASH_TAG + checksum
    size = varint.encode(len(head) + payload_bytes)
    return b"".join((_VERSION, _BLOCK_TAG, size, head, *payloads))


def record_of(tag: bytes, message: pb.EpisodeStart | pb.EpisodeEnd) -> bytes:
    """The record of an episode's start or end, as protobuf writes it, without a copy of the message.

    >>> end = pb.EpisodeEnd(rows=3)
    >>> record_of(END, end) == pb.Record(version=MAJOR_VERSION, end=end).SerializeToString()
    True
    """
    data = message.SerializeToString()
    return b"".join((_VERSION, tag, varint.encode(len(data)), data))


@functools.lru_cache(maxsize=1024)
def record_size(size: int) -> int:
    """The bytes of `record_of` a message of so many bytes.

    >>> end = pb.EpisodeEnd(episode_id=bytes(200))
    >>> record_size(end.ByteSize()) == len(record_of(END, end))
    True
    """
    return len(_VERSION) + 1 + len(varint.encode(size)) + size


def is_block(record: bytes) -> bool:
    """Whether a record, or the first bytes of one, is a step block; raises on a newer major version.

    Raises:
      FormatError: the record is of a newer major version, or not an rlds_kit record at all.
    """
    if record[:1] != _VERSION_TAG:
        raise FormatError("expected an rlds_kit record, got something else: the file is no rlds_kit shard")
    try:
        version, at = varint.decode(record, 1)
    except riegeli_errors.DamagedError as error:
        raise FormatError("expected an rlds_kit record, got something else: the file is no rlds_kit shard") from error
    check_version(version)
    return record[at : at + 1] == _BLOCK_TAG


def check_version(version: int) -> None:
    """Raises an error for records of later major versions.

    Raises:
      FormatError: `version` is newer than this release knows.
    """
    if version > MAJOR_VERSION:
        raise FormatError(
            f"expected format version {MAJOR_VERSION} or older, got {version}: "
            "a newer rlds_kit wrote it; upgrade rlds_kit"
        )


def parse_prefix(record: bytes, place: object) -> BlockPrefix:
    """The header of a block from the first bytes of its record.

    Raises:
      PrefixTooShortError: more bytes are needed.
      DamagedError: the header does not match its checksum.
    """
    try:
        _, at = varint.decode(record, 1)
        _, at = varint.decode(record, at + 1)
        if record[at : at + 1] != _HEADER_TAG:
            raise DamagedError(f"{place}: expected a block header, got other bytes; run `rlds-kit repair`")
        size, at = varint.decode(record, at + 1)
    except riegeli_errors.DamagedError as error:
        raise PrefixTooShortError(PREFIX_BYTES) from error
    end = at + size + 9
    if len(record) < end:
        raise PrefixTooShortError(end)
    header = record[at : at + size]
    checksum = int.from_bytes(record[at + size + 1 : end], "little")
    if record[at + size : at + size + 1] != _HASH_TAG or xxhash.xxh3_64_intdigest(header) != checksum:
        raise DamagedError(f"{place}: the block header does not match its checksum; run `rlds-kit repair`")
    try:
        return BlockPrefix(pb.BlockHeader.FromString(header), end)
    except DecodeError as error:
        raise FormatError(f"{place}: the block header is no BlockHeader message") from error


def parse_whole_prefix(record: bytes, place: object) -> BlockPrefix:
    """The header of a block from the whole record.

    Raises:
      DamagedError: the header does not match its checksum.
      FormatError: it is longer than its block.
    """
    try:
        return parse_prefix(record, place)
    except PrefixTooShortError as short:
        raise FormatError(f"{place}: the block header is longer than its block") from short


def decode(
    record: bytes, place: object, offsets: Container[int] | None = None
) -> tuple[pb.BlockHeader, dict[int, Column]]:
    """The columns of a block by their `Column.offset`; only those in `offsets` if given.

    Raises:
      DamagedError: a checksum does not match.
      FormatError: the block contradicts itself.
    """
    prefix = parse_whole_prefix(record, place)
    view = memoryview(record)[prefix.payload_base :]
    return prefix.header, {
        header.offset: columns.decode(
            layout_of(header, place), view[header.offset : header.offset + header.length], place
        )
        for header in prefix.header.columns
        if offsets is None or header.offset in offsets
    }
