"""What is stored of a column of many lanes, which is divided into pieces: each has the rows of another block.

For each column there is one call of C, which finds what is repeated, hashes and separates bytes, and one of zstd. Both
work without the interpreter's lock: the thread that plays waits for neither.
"""

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import numpy as np
import xxhash
import zstandard

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block, filters
from rlds_kit.storage.column_encoder import WORTHWHILE_BYTES
from rlds_kit.storage.compression import HAS_MULTI_COMPRESS, NO_LEVEL, compressor
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey

_NO_BYTES: Final = -1
_MOST_BYTES: Final = 1 << 16
"""A larger piece is compressed by itself: a call then costs little, and its byte planes get blocks of their own."""
RELATION: Final = {**filters.RELATION, pb.IDENTITY: 3}
"""The numbers of pieces.c for what is compressed of rows."""
_FILTER: Final = {relation: number for number, relation in RELATION.items()}
Description = tuple[bytes, bytes, bytes, bytes | bytearray]

FIRST_ROW, COUNT, FILTER, CODEC, DECODED, IN_FRAMES, BEGIN, SIZE, NUMBERS = range(9)
"""The last axis of a table of pieces, as in _blocks.c, and its length."""


class Pieces(NamedTuple):
    """The pieces of a column as they will be stored.

    Attributes:
      table: `[pieces, NUMBERS]` int64: row in the episode, rows, filter and codec, the bytes of the payload without
        compression, whether the payload is in `frames`, or else in the column itself, and its begin and size there. A
        piece of 0 rows must be encoded in another way.
      frames: of zstd, one after the other.
      offsets: `[pieces]` int64, byte of the first row in the column.
      hashes: `[pieces, 16]` uint8, XXH3-128 of the values.
    """

    table: np.ndarray
    frames: bytes
    offsets: np.ndarray
    hashes: np.ndarray


def pack_pieces(
    key: ColumnKey, values: np.ndarray, begins: np.ndarray, counts: np.ndarray, firsts: np.ndarray, choose: FilterChoice
) -> Pieces:
    """Encodes the pieces of a column.

    Args:
      key: of the column.
      values: `[rows, *shape]`, in C order, of all lanes.
      begins: `[pieces]` int64, the first row of each piece.
      counts: `[pieces]` int64, rows.
      firsts: `[pieces]` int64, the number of the first row in its episode.
      choose: chooses the filter, and remembers earlier choices.
    """
    row_bytes, data = values[0].nbytes, values.reshape(-1).view(np.uint8)
    offsets, lengths = begins * row_bytes, counts * row_bytes
    bounds = np.stack((offsets, counts), axis=1)

    def described(choice: Choice | None) -> Description:
        relation = _NO_BYTES if choice is None or choice.level == NO_LEVEL else RELATION[choice.filter]
        return describe(data, bounds, row_bytes, values.dtype.itemsize, relation, WORTHWHILE_BYTES, _MOST_BYTES)

    choice = choose.known(key, len(counts))
    if choice is None:
        differ = np.frombuffer(described(None)[0], np.uint8) == 0
        if key.kind != pb.TREE and differ.any():
            longest = int(np.argmax(counts * differ))  # short ones say little about the others
            rows = values[begins[longest] : begins[longest] + counts[longest]]
            choose(key, rows.view(np.uint8).reshape(len(rows), -1), rows.dtype, values.shape[1:])
            choice = choose.known(key, len(counts))
    flags, hashes, planes_at, planes = described(choice)
    frames, frame_begins, frame_sizes = _compressed(planes, planes_at, 0 if choice is None else choice.level)

    is_repeated = np.frombuffer(flags, np.bool_)
    is_framed = (frame_sizes > 0) & (frame_sizes + WORTHWHILE_BYTES <= lengths)
    is_other = _is_heavy_or_full(key, data, offsets, row_bytes) & is_repeated
    if choice is None:
        is_other |= ~is_repeated
    elif choice.level != NO_LEVEL:
        is_other |= ~is_repeated & (frame_sizes == 0) & (lengths > WORTHWHILE_BYTES)
    filter_ = pb.IDENTITY if choice is None else choice.filter
    decoded = np.where(is_repeated, row_bytes, lengths)
    columns = {
        FIRST_ROW: firsts,
        COUNT: np.where(is_other, 0, counts),
        FILTER: np.where(is_repeated, pb.REPEAT, np.where(is_framed, filter_, pb.IDENTITY)),
        CODEC: np.where(is_framed, pb.ZSTD, pb.STORED),
        DECODED: decoded,
        IN_FRAMES: is_framed,
        BEGIN: np.where(is_framed, frame_begins, offsets),
        SIZE: np.where(is_framed, frame_sizes, decoded),
    }
    table = np.stack([columns[number] for number in range(NUMBERS)], axis=1)
    return Pieces(table, frames, offsets, np.frombuffer(hashes, np.uint8).reshape(-1, 16))


def _is_heavy_or_full(key: ColumnKey, data: np.ndarray, offsets: np.ndarray, row_bytes: int) -> np.ndarray:
    """`[pieces]` bool: of which pieces the first row, although it is repeated, must be encoded in another way."""
    if row_bytes > WORTHWHILE_BYTES:
        return np.ones(len(offsets), np.bool_)
    if key.kind != pb.TREE:
        return np.zeros(len(offsets), np.bool_)
    if row_bytes != len(EMPTY_DICT):
        return np.ones(len(offsets), np.bool_)
    rows = data[offsets[:, None] + np.arange(row_bytes)]
    is_full: np.ndarray = (rows != np.frombuffer(EMPTY_DICT, np.uint8)).any(axis=1)
    return is_full


def describe_in_python(
    data: np.ndarray, pieces: np.ndarray, width: int, itemsize: int, relation: int, least: int, most: int
) -> Description:
    """What there is to know of pieces of a column before they are written.

    Args:
      data: `[bytes]` uint8, the column.
      pieces: `[n, 2]` int64, the byte at which each piece begins, and its number of rows.
      width: bytes of a row.
      itemsize: bytes of an element.
      relation: how the bytes that will be compressed are made of rows, a number of `RELATION`; -1: none are needed.
      least: bytes; pieces that are larger are compressed.
      most: bytes; pieces that are larger than this are not.

    Returns:
      Whether the rows of each piece are equal, one byte each; the XXH3-128 of each, 16 bytes; begin and size of the
      bytes of each that will be compressed, int64, which has the size 0 if there are none; and all these bytes.
    """
    repeated, hashes, bounds, planes = bytearray(), list[bytes](), list[tuple[int, int]](), bytearray()
    for begin, count in pieces.tolist():
        plain = data[begin : begin + count * width].tobytes()
        repeated.append(plain == plain[:width] * count)
        hashes.append(xxhash.xxh3_128_digest(plain))
        size = len(plain) if relation >= 0 and not repeated[-1] and least < len(plain) <= most else 0
        bounds.append((len(planes), size))
        if size:
            planes += filters.shuffled_bytes(_FILTER[relation], plain, count, itemsize)
    return bytes(repeated), b"".join(hashes), np.array(bounds, np.int64).tobytes(), planes


describe: Final[Callable[[np.ndarray, np.ndarray, int, int, int, int, int], Description]] = getattr(
    block.native, "describe", describe_in_python
)


def _compressed(planes: bytes | bytearray, bounds: bytes, level: int) -> tuple[bytes, np.ndarray, np.ndarray]:
    """The zstd frames of byte planes, one after the other, and `[pieces]` begin and size of each; 0: it has none."""
    places = np.frombuffer(bounds, np.int64).reshape(-1, 2)
    sizes = np.zeros(len(places), np.int64)
    if not planes:
        return b"", sizes, sizes
    numbers = np.flatnonzero(places[:, 1])
    segments = places[numbers]
    if not HAS_MULTI_COMPRESS:
        view = memoryview(planes)
        frames = [compressor(level).compress(view[begin : begin + size]) for begin, size in segments.tolist()]
    else:
        buffer = zstandard.BufferWithSegments(planes, segments.astype(np.uint64).tobytes())
        found: Any = compressor(level).multi_compress_to_buffer(buffer)
        frames = [found[at] for at in range(len(found))]
    sizes[numbers] = [len(frame) for frame in frames]
    return b"".join(frames), np.cumsum(sizes) - sizes, sizes
