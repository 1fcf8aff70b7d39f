"""Finds the next intact chunk of a shard after damage, without losing intact chunks.

Riegeli itself continues at the next block header, up to 64 KiB further on: many small chunks may lie in between. Here
the damaged chunk's own length is tried first, then the positions of chunks in a footer, then the length of the record
in the chunk, then every byte up to the next block header. A chunk found by the search is only accepted if the chunks
after it lead without a gap to the position where Riegeli continues.
"""

from collections.abc import Sequence
from typing import Final

from rlds_kit.riegeli import blocks, chunk, varint
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import Truncation, read_header
from rlds_kit.riegeli.codec import Codec
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.riegeli.recovery import ChunkDamage
from rlds_kit.riegeli.source import Source

SEARCH_BYTES: Final = 1 << 20
"""Limit of the search byte by byte: where no block header is intact for this long, little else is."""

_FRAME_BYTES: Final = 64
_TYPE_OFFSET: Final = 24
_TYPES: Final = frozenset((chunk.SIGNATURE, chunk.METADATA, chunk.PADDING, chunk.SIMPLE, chunk.TRANSPOSED))


def next_chunk(source: Source, damage: ChunkDamage, known: Sequence[int] = ()) -> int:
    """The position of the next chunk after damage; the end of the file if there is none.

    Args:
      source: the shard.
      damage: the damage that was found.
      known: the positions of chunks in the shard's footer, ascending.
    """
    own_end = _own_end(source, damage.begin)
    if own_end is not None:
        return own_end
    for position in known:
        if position > damage.begin and _header(source, position) is not None:
            return position
    framed_end = _framed_end(source, damage.begin)
    return _search(source, damage.begin) if framed_end is None else framed_end


def _own_end(source: Source, position: int) -> int | None:
    """The end of the chunk at `position`, if its header is intact and the file is long enough."""
    header = _header(source, position)
    if header is None or not source.reaches(header.end(position)):
        return None
    return header.end(position)


def _header(source: Source, position: int) -> ChunkHeader | None:
    try:
        header = read_header(source, position)
    except ChunkDamage:
        return None
    return header if isinstance(header, ChunkHeader) else None


def _framed_end(source: Source, position: int) -> int | None:
    """The end of the chunk at `position` by the length of its record, if another chunk begins there.

    Tried before the search, because a record may contain bytes that resemble chunks: a recorded value may be a whole
    file.
    """
    data_begin = blocks.with_overhead(position, blocks.CHUNK_HEADER_SIZE)
    data = blocks.unframe(source.read(data_begin, _FRAME_BYTES), data_begin)
    try:
        sizes_length, at = varint.decode(data, 1)
        size, data_end = varint.decode(data, at)
    except DamagedError:
        return None
    if data[0] != Codec.NONE or data_end != at + sizes_length or not source.reaches(position + size):
        return None
    end = blocks.chunk_end(position, data_end + size, 1)
    return end if end == source.size() or _header(source, end) is not None else None


def _search(source: Source, begin: int) -> int:
    limit, after = _next_landmark(source, begin)
    position = begin + 1
    while position < min(limit, begin + SEARCH_BYTES):
        header = _header(source, position) if _may_be_header(source, position) else None
        end, leads_there = _follow(source, position, limit) if header is not None else (position, False)
        if header is not None and header.chunk_type == chunk.SIGNATURE:
            position = end  # a file that was recorded as a value
        elif leads_there:
            return position
        position += 1
    return limit if limit > begin else after


def _next_landmark(source: Source, begin: int) -> tuple[int, int]:
    """The bounds of the chunk that covers the next intact block header; without one, both are the end of the file."""
    boundary = begin + -begin % blocks.BLOCK_SIZE
    while source.reaches(boundary + blocks.BLOCK_HEADER_SIZE):
        distances = blocks.parse_block_header(source.read(boundary, blocks.BLOCK_HEADER_SIZE))
        if distances is not None:
            # A chunk that begins at the damage is the damaged one: only its end is used.
            return boundary - distances[0], min(boundary + distances[1], source.size())
        boundary += blocks.BLOCK_SIZE
    return source.size(), source.size()


def _may_be_header(source: Source, position: int) -> bool:
    if not blocks.possible_boundary(position):
        return False
    size = blocks.with_overhead(position, blocks.CHUNK_HEADER_SIZE) - position
    raw = blocks.unframe(source.read(position, size), position)
    return len(raw) >= blocks.CHUNK_HEADER_SIZE and raw[_TYPE_OFFSET] in _TYPES  # cheap; its hash is checked then


def _follow(source: Source, position: int, limit: int) -> tuple[int, bool]:
    """The end of the consecutive chunks from `position`, and whether that is `limit` or an incomplete last chunk.

    Bytes that only resemble a chunk rarely lead there.
    """
    while position < limit:
        try:
            header = read_header(source, position)
        except ChunkDamage:
            return position, False
        if not isinstance(header, ChunkHeader):
            return position, isinstance(header, Truncation)
        position = header.end(position)
    return position, position == limit or not source.reaches(position)
