"""Where pieces of columns are, what there is to know of them, and how they are stored: in C, or in Python."""

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple, TypeAlias

import numpy as np
import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import block, filters

RELATION: Final = {**filters.RELATION, pb.IDENTITY: 3}
"""The numbers of pieces.c for what is compressed of rows."""
_FILTER: Final = {relation: number for number, relation in RELATION.items()}
Spans: TypeAlias = tuple[bytes, bytes]
Description: TypeAlias = tuple[bytes, bytes, bytes, bytes | bytearray, bytes]
Stored: TypeAlias = tuple[bytes, bytes]


class Storing(NamedTuple):
    """How pieces of a column are stored.

    Attributes:
      width: bytes of a row.
      filter: of pieces in frames.
      worthwhile: bytes that a frame must save.
      most_plain: bytes of a piece without a frame that is stored as it is.
      only: the row of pieces whose rows are equal; no bytes: any; None: these pieces are not stored.
    """

    width: int
    filter: int
    worthwhile: int
    most_plain: int
    only: bytes | None


def spans_in_python(
    rows: np.ndarray, lanes: tuple[int, int], width: int, is_acted: bool, present: np.ndarray | None
) -> Spans:
    r"""Which rows of a column blocks have.

    Args:
      rows: `[blocks, 4]` int64, of each block.
      lanes: their number, and the rows of each.
      width: bytes of a row.
      is_acted: whether values came with the row after the one that they belong to.
      present: `[rows, lanes]` bool, which rows have a value; None: all.

    Returns:
      The `spans` of `Pieces`, and whether the rows of each block have gaps among them, one byte each.

    >>> present = np.array([[False, True], [True, False], [True, True]])
    >>> spans, gaps = spans_in_python(np.array([[0, 0, 3, 7], [1, 0, 3, 0]]), (2, 3), 8, False, present)
    >>> np.frombuffer(spans, np.int64).tolist(), gaps
    ([8, 10, 8, 24, 0, 0, 0, 0], b'\x00\x01')
    """
    spans, gaps = np.zeros((len(rows), 4), np.int64), bytearray()
    for number, (lane, begin, stop, first_row) in enumerate(rows.tolist()):
        # The first row of an episode has no action before it.
        places = np.arange(begin + (is_acted and first_row == 0), stop)
        if present is not None:
            places = places[present[places, lane]]
        gaps.append(len(places) > 0 and int(places[-1]) - int(places[0]) + 1 != len(places))
        if len(places) and not gaps[-1]:
            start, at = first_row - is_acted + int(places[0]) - begin, (lane * lanes[1] + int(places[0])) * width
            spans[number] = start, start + len(places), at, at + len(places) * width
    return spans.tobytes(), bytes(gaps)


class Described(NamedTuple):
    """Pieces of a column of which something will be found.

    Attributes:
      data: `[bytes]` uint8, the column.
      spans: of the pieces.
      width: bytes of a row.
      itemsize: bytes of an element.
      relation: how the bytes that will be compressed are made of rows, a number of `RELATION`; -1: none are needed.
      least: bytes; pieces that are larger are compressed.
      most: bytes; pieces that are larger than this are not.
    """

    data: np.ndarray
    spans: bytes
    width: int
    itemsize: int
    relation: int
    least: int
    most: int


def describe_in_python(columns: tuple[Described, ...]) -> list[Description]:
    """What there is to know of pieces of columns before they are written.

    Returns:
      Of each column: 1. whether the rows of each piece are equal, one byte each; 2. the XXH3-128 of each piece, 16
      bytes; 3. begin and size, int64, of the bytes of each piece that will be compressed, with the size 0 if there are
      none; 4. all these bytes; 5. begin and size once more, without pieces of size 0.
    """
    return [_description(*column) for column in columns]


def _description(
    data: np.ndarray, spans: bytes, width: int, itemsize: int, relation: int, least: int, most: int
) -> Description:
    repeated, hashes, bounds, planes = bytearray(), list[bytes](), list[tuple[int, int]](), bytearray()
    for first, stop, begin, end in np.frombuffer(spans, np.int64).reshape(-1, 4).tolist():
        plain = data[begin:end].tobytes()
        repeated.append(plain == plain[:width] * (stop - first))
        hashes.append(xxhash.xxh3_128_digest(plain))
        size = len(plain) if relation >= 0 and not repeated[-1] and least < len(plain) <= most else 0
        bounds.append((len(planes), size))
        if size:
            planes += filters.shuffled_bytes(_FILTER[relation], plain, stop - first, itemsize)
    all_bounds = np.array(bounds, np.int64).reshape(-1, 2)
    segments = all_bounds[all_bounds[:, 1] > 0]
    return bytes(repeated), b"".join(hashes), all_bounds.tobytes(), planes, segments.tobytes()


def stored_in_python(
    data: np.ndarray,
    spans: bytes,
    gaps: bytes,
    repeated: bytes,
    bounds: bytes,
    sizes: Sequence[int],
    how: Storing,
) -> Stored:
    """How pieces of a column are stored.

    Args:
      data: `[bytes]` uint8, the column.
      spans: of the pieces.
      gaps: from `spans_of`.
      repeated: from `describe`.
      bounds: likewise.
      sizes: int64, of the frames, one for each piece that has bytes to be compressed.
      how: pieces of the column are stored.

    Returns:
      `table` and `is_encoded` of `Pieces`.
    """
    width, filter_, worthwhile, most_plain, only = how
    table, is_encoded, frame_begin = list[tuple[int, ...]](), bytearray(), 0
    pieces = np.frombuffer(spans, np.int64).reshape(-1, 4).tolist()
    planes, frames = np.frombuffer(bounds, np.int64)[1::2].tolist(), iter(sizes)
    for (first, stop, begin, end), has_gaps, is_repeated, plane in zip(pieces, gaps, repeated, planes, strict=True):
        size, frame = end - begin, next(frames) if plane else 0
        if is_repeated:
            can_be_stored = only is not None and data[begin : begin + len(only)].tobytes() == only
        else:
            can_be_stored = frame > 0 or size <= most_plain
        is_encoded.append(not has_gaps and (not size or can_be_stored))
        decoded, is_framed = width if is_repeated else size, 0 < frame <= size - worthwhile
        number = pb.REPEAT if is_repeated else filter_ if is_framed else pb.IDENTITY
        payload = (pb.ZSTD, decoded, 1, frame_begin, frame) if is_framed else (pb.STORED, decoded, 0, begin, decoded)
        table.append((first, stop - first, number, *payload) if size and is_encoded[-1] else (0,) * 8)
        frame_begin += frame
    return np.array(table, np.int64).tobytes(), bytes(is_encoded)


spans_of: Final[Callable[[np.ndarray, tuple[int, int], int, bool, np.ndarray | None], Spans]] = getattr(
    block.native, "spans_of", spans_in_python
)
describe: Final[Callable[[tuple[Described, ...]], list[Description]]] = getattr(
    block.native, "describe", describe_in_python
)
stored: Final[Callable[[np.ndarray, bytes, bytes, bytes, bytes, Sequence[int], Storing], Stored]] = getattr(
    block.native, "stored", stored_in_python
)
