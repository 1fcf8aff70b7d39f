"""What is stored of a column of many lanes, which is divided into pieces: each has the rows of another block.

For each column there are three calls of C and one of zstd. The longest, which finds what is repeated, hashes and
separates bytes, and that of zstd work without the interpreter's lock: the thread that plays waits for neither.
"""

from array import array
from typing import Any, Final, NamedTuple

import numpy as np
import zstandard

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.column_encoder import WORTHWHILE_BYTES
from rlds_kit.storage.compression import HAS_MULTI_COMPRESS, NO_LEVEL, compressor
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import EMPTY_DICT, ColumnKey
from rlds_kit.storage.piece_functions import RELATION, Description, Storing, describe, spans_of, stored

_NO_BYTES: Final = -1
_MOST_BYTES: Final = 1 << 16
"""A larger piece is compressed by itself: a call then costs little, and its byte planes get blocks of their own."""
_ANY_BYTES: Final = (1 << 63) - 1

LANE, BEGIN, STOP, FIRST = range(4)
"""The last axis of the rows of blocks, see `lane_blocks.LaneRows`."""


class Pieces(NamedTuple):
    """The pieces of a column, one for each block, as they will be stored.

    Attributes:
      spans: `[blocks, 4]` int64, the first row in the episode, one past the last, and begin and end of the values in
        the bytes of the column; zeros of a block without rows of the column, or with gaps among them.
      hashes: 16 bytes of each block, the XXH3-128 of its values.
      frames: of zstd, one after the other.
      table: `[blocks, 8]` int64: first row, rows, filter and codec, the bytes of the payload without compression,
        whether the payload is in `frames`, or else in the column itself, and its begin and size there. Zeros where no
        rows are stored.
      is_encoded: a byte of each block; 0: the column must be encoded there in another way.
    """

    spans: bytes
    hashes: bytes
    frames: bytes
    table: bytes
    is_encoded: bytes


def pack_pieces(
    key: ColumnKey,
    values: np.ndarray,
    rows: np.ndarray,
    choose: FilterChoice,
    present: np.ndarray | None = None,
    *,
    is_acted: bool = False,
) -> Pieces:
    """Encodes the pieces of a column.

    Args:
      key: of the column.
      values: `[lanes, rows, *shape]`, in C order.
      rows: `[blocks, 4]` int64, the `LaneRows` of each block.
      choose: chooses the filter, and remembers earlier choices.
      present: `[rows, lanes]` bool, which rows have a value; None: all.
      is_acted: whether values came with the row after the one that they belong to.
    """
    row_bytes, data = values[0, 0].nbytes, values.reshape(-1).view(np.uint8)
    spans, gaps = spans_of(rows, values.shape[:2], row_bytes, is_acted, present)

    def described(choice: Choice | None) -> Description:
        relation = _NO_BYTES if choice is None or choice.level == NO_LEVEL else RELATION[choice.filter]
        return describe(data, spans, row_bytes, values.dtype.itemsize, relation, WORTHWHILE_BYTES, _MOST_BYTES)

    choice = choose.known(key, values.nbytes)  # about: those of rows without a value too
    found = described(choice)
    if choice is None and key.kind != pb.TREE and (longest := _longest_that_differs(spans, found[0])) is not None:
        begin, end = longest
        choose(key, data[begin:end].reshape(-1, row_bytes), values.dtype, values.shape[2:])
        choice = choose.known(key, 0)  # the trial has counted as a block
        found = described(choice)
    repeated, hashes, planes_at, planes = found
    frames, sizes = _compressed(planes, planes_at, 0 if choice is None else choice.level)
    most_plain = -1 if choice is None else _ANY_BYTES if choice.level == NO_LEVEL else WORTHWHILE_BYTES
    filter_ = pb.IDENTITY if choice is None else choice.filter
    how = Storing(row_bytes, filter_, WORTHWHILE_BYTES, most_plain, _only_repeated(key, row_bytes))
    table, is_encoded = stored(data, spans, gaps, repeated, planes_at, sizes, how)
    return Pieces(spans, hashes, frames, table, is_encoded)


def _longest_that_differs(spans: bytes, repeated: bytes) -> tuple[int, int] | None:
    """The bytes of the longest piece whose rows differ: short ones say little about the others."""
    bounds = np.frombuffer(spans, np.int64).reshape(-1, 4)[:, 2:]
    lengths = (bounds[:, 1] - bounds[:, 0]) * (np.frombuffer(repeated, np.uint8) == 0)
    if not lengths.any():
        return None
    begin, end = bounds[np.argmax(lengths)].tolist()
    return begin, end


def _only_repeated(key: ColumnKey, row_bytes: int) -> bytes | None:
    """What a row must be so that, repeated, it is stored here; no bytes: anything; None: it is not."""
    if row_bytes > WORTHWHILE_BYTES or (key.kind == pb.TREE and row_bytes != len(EMPTY_DICT)):
        return None
    return EMPTY_DICT if key.kind == pb.TREE else b""


def _compressed(planes: bytes | bytearray, bounds: bytes, level: int) -> tuple[bytes, "array[int]"]:
    """The zstd frames of byte planes, one after the other, and the size of each."""
    if not planes:
        return b"", array("q")
    places = np.frombuffer(bounds, np.int64).reshape(-1, 2)
    segments = places[places[:, 1] > 0]
    if not HAS_MULTI_COMPRESS:
        view = memoryview(planes)
        frames = [compressor(level).compress(view[begin : begin + size]) for begin, size in segments.tolist()]
    else:
        buffer = zstandard.BufferWithSegments(planes, segments.astype(np.uint64).tobytes())
        found: Any = compressor(level).multi_compress_to_buffer(buffer)
        frames = [found[at] for at in range(len(found))]
    return b"".join(frames), array("q", map(len, frames))
