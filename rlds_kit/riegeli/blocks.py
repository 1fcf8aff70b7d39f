"""Where chunks may begin and end, and the header that interrupts them every 64 KiB.

"Block header", "Chunk" and "Implementation notes" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md

Two kinds of length appear here. A *payload* length counts the bytes of a chunk (its 40-byte header, then
its data) without block headers; a *file position* counts every byte of the file.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator

from rlds_kit.riegeli.buffer import Buffer
from rlds_kit.riegeli.hash import highway_hash64

BLOCK_SIZE = 1 << 16
BLOCK_HEADER_SIZE = 24
USABLE_BLOCK_SIZE = BLOCK_SIZE - BLOCK_HEADER_SIZE
CHUNK_HEADER_SIZE = 40

_DISTANCES = struct.Struct("<QQ")
_HASH = struct.Struct("<Q")


def _remaining_in_block(position: int) -> int:
    return -position % BLOCK_SIZE


def possible_boundary(position: int) -> bool:
    """Return whether a chunk may begin or end at `position`: not inside a block header, nor just after it.

    >>> [possible_boundary(position) for position in (0, 1, 24, 25, 65536)]
    [True, False, False, True, True]
    """
    return _remaining_in_block(position) < USABLE_BLOCK_SIZE


def round_up(position: int) -> int:
    """Return the first possible chunk boundary at or after `position`.

    >>> round_up(24), round_up(26)
    (25, 26)
    """
    return position + max(0, _remaining_in_block(position) - (USABLE_BLOCK_SIZE - 1))


def with_overhead(begin: int, size: int) -> int:
    """Return the file position after `size` payload bytes of a chunk that begins at `begin`.

    >>> with_overhead(0, 40), with_overhead(64, 65472)
    (64, 65536)
    """
    overhead_blocks = (size + (begin + USABLE_BLOCK_SIZE - 1) % BLOCK_SIZE) // USABLE_BLOCK_SIZE
    return begin + size + overhead_blocks * BLOCK_HEADER_SIZE


def without_overhead(begin: int, position: int) -> int:
    """Return how many payload bytes of a chunk that begins at `begin` lie before file position `position`.

    >>> without_overhead(0, 64)
    40
    """
    usable_end = position - min(position % BLOCK_SIZE, BLOCK_HEADER_SIZE)
    usable_begin = begin - min(begin % BLOCK_SIZE, BLOCK_HEADER_SIZE)
    return usable_end - usable_begin - BLOCK_HEADER_SIZE * (position // BLOCK_SIZE - begin // BLOCK_SIZE)


def physical(begin: int, offset: int) -> int:
    """Return the file position of payload byte `offset` of the chunk that begins at `begin`.

    >>> physical(0, 0), physical(64, 40)
    (24, 104)
    """
    # One byte further and one back: the position *after* `offset` bytes may be a block header's.
    return with_overhead(begin, offset + 1) - 1


def chunk_end(begin: int, data_size: int, num_records: int) -> int:
    """Return where a chunk ends that begins at `begin` and holds `data_size` bytes after its header.

    A chunk spans at least as many bytes as it has records, so that chunk begin plus record index is unique.

    >>> chunk_end(0, 0, 0), chunk_end(64, 0, 60000)
    (64, 60064)
    """
    return max(with_overhead(begin, CHUNK_HEADER_SIZE + data_size), round_up(begin + num_records))


def pack_block_header(previous_chunk: int, next_chunk: int) -> bytes:
    """Return the 24 bytes of a block header: distances back to the chunk's begin and on to its end."""
    distances = _DISTANCES.pack(previous_chunk, next_chunk)
    return _HASH.pack(highway_hash64(distances)) + distances


def parse_block_header(raw: bytes) -> tuple[int, int] | None:
    """Return `(previous_chunk, next_chunk)` of a 24-byte block header, or None if it is damaged."""
    distances = raw[8:]
    if _HASH.unpack_from(raw)[0] != highway_hash64(distances):
        return None
    previous_chunk, next_chunk = _DISTANCES.unpack(distances)
    legal = (
        previous_chunk % BLOCK_SIZE < USABLE_BLOCK_SIZE
        and next_chunk > 0
        and (next_chunk - 1) % BLOCK_SIZE >= BLOCK_HEADER_SIZE
    )
    return (previous_chunk, next_chunk) if legal else None


def boundaries(begin: int, end: int) -> range:
    """Return the file positions in `[begin, end)` where a block begins.

    >>> list(boundaries(64, 131073))
    [65536, 131072]
    """
    return range(begin + _remaining_in_block(begin), end, BLOCK_SIZE)


def frame(begin: int, end: int, *payload: Buffer) -> bytes:
    """Return the file bytes `[begin, end)` of a chunk: the parts of `payload`, block headers, then zeros.

    Raises:
        ValueError: `payload` does not fit between `begin` and `end`.

    >>> len(frame(64, 64 + 65600 + 24, bytes(40), bytes(65560)))
    65624
    """
    size = sum(memoryview(part).nbytes for part in payload)
    padding = without_overhead(begin, end) - size
    if padding < 0 or with_overhead(begin, size + padding) != end:
        raise ValueError(f"a payload of {size} bytes does not fit in file bytes {begin} to {end}")
    parts = (*payload, bytes(padding)) if padding else payload
    return b"".join(_framed_pieces(begin, end, parts) if boundaries(begin, end) else parts)


def _framed_pieces(begin: int, end: int, parts: Iterable[Buffer]) -> Iterator[Buffer]:
    """Yield slices of `parts` and the block headers between them."""
    position = begin
    for part in parts:
        view = memoryview(part)
        done = 0
        while done < len(view):
            if position % BLOCK_SIZE == 0:
                yield pack_block_header(position - begin, end - position)
                position += BLOCK_HEADER_SIZE
            piece = view[done : done + _remaining_in_block(position)]
            yield piece
            position += len(piece)
            done += len(piece)


def unframe(raw: Buffer, begin: int) -> bytes:
    """Return the payload bytes among the file bytes `raw` that begin at file position `begin`.

    `begin` may lie at or inside a block header; block headers are dropped, not checked.

    >>> unframe(frame(64, 65664, bytes(65576)), 64) == bytes(65576)
    True
    """
    within = begin % BLOCK_SIZE
    skipped = max(0, BLOCK_HEADER_SIZE - within)
    first_boundary = BLOCK_SIZE - within
    view = memoryview(raw)
    if len(view) <= first_boundary:
        return raw if isinstance(raw, bytes) and not skipped else bytes(view[skipped:])
    rest = (
        view[boundary + BLOCK_HEADER_SIZE : boundary + BLOCK_SIZE]
        for boundary in range(first_boundary, len(view), BLOCK_SIZE)
    )
    return b"".join((view[skipped:first_boundary], *rest))


def scattered(buffer: memoryview, begin: int, end: int) -> Iterator[memoryview]:
    """Yield where to read the file bytes `[begin, end)` to: their payload fills `buffer`, block headers go aside."""
    aside, done = memoryview(bytearray(BLOCK_HEADER_SIZE)), 0
    while begin < end:
        within = begin % BLOCK_SIZE
        if within < BLOCK_HEADER_SIZE:
            piece = aside[: min(BLOCK_HEADER_SIZE - within, end - begin)]
        else:
            piece = buffer[done : done + min(BLOCK_SIZE - within, end - begin)]
            done += len(piece)
        yield piece
        begin += len(piece)
