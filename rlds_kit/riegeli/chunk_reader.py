"""Reads one chunk out of a file and checks all of it: block headers, chunk header, data.

"Block header" and "Chunk" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from dataclasses import dataclass

from rlds_kit.riegeli import blocks
from rlds_kit.riegeli.chunk import SIGNATURE, ChunkHeader
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.riegeli.hash import highway_hash64
from rlds_kit.riegeli.recovery import ChunkDamage, Resume
from rlds_kit.riegeli.source import Source


@dataclass(frozen=True, slots=True)
class Truncation:
    """The file ends inside a chunk.

    The chunk begins at file position `begin`; `length` of its bytes are there, of `expected_length`
    (a lower bound where the file ends inside the chunk's header).
    """

    begin: int
    length: int
    expected_length: int

    def __str__(self) -> str:
        return f"the file ends {self.length} bytes into the chunk at {self.begin}, which needs {self.expected_length}"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A chunk whose hashes match; it fills the file bytes from `begin` to `end`."""

    begin: int
    header: ChunkHeader
    data: bytes
    end: int


def read_chunk(source: Source, begin: int) -> Chunk | Truncation | None:
    """Return the chunk at file position `begin`, what there is of it, or None at the end of the file.

    Raises:
        ChunkDamage: a header or a hash is wrong.
    """
    header = read_header(source, begin)
    if header is None or isinstance(header, Truncation):
        return header
    end = header.end(begin)
    data_begin = blocks.with_overhead(begin, blocks.CHUNK_HEADER_SIZE)
    data_end = blocks.with_overhead(begin, blocks.CHUNK_HEADER_SIZE + header.data_size)
    if not source.reaches(end):
        _check_torn_chunk(source, begin, data_begin, min(data_end, source.size()), end)
        return Truncation(begin, source.size() - begin, end - begin)
    raw = source.read(data_begin, data_end - data_begin)
    if len(raw) < data_end - data_begin:  # the file was truncated while it was read
        return Truncation(begin, source.size() - begin, end - begin)
    for boundary in blocks.boundaries(data_begin, data_end):
        offset = boundary - data_begin
        _check_block_header(raw[offset : offset + blocks.BLOCK_HEADER_SIZE], boundary, begin, end)
    data = blocks.unframe(raw, data_begin)
    if highway_hash64(data) != header.data_hash:
        raise ChunkDamage("the hash of a chunk's data does not match", begin, Resume.at(end))
    return Chunk(begin, header, data, end)


def read_header(source: Source, begin: int) -> ChunkHeader | Truncation | None:
    """Return the header of the chunk at file position `begin`, reading nothing else.

    Raises:
        ChunkDamage: the header, or a block header before or inside it, is wrong.
    """
    header_end = blocks.with_overhead(begin, blocks.CHUNK_HEADER_SIZE)
    raw = source.read(begin, header_end - begin)
    if not raw:
        return None
    if not blocks.possible_boundary(begin):
        raise ChunkDamage("a chunk cannot begin inside or just after a block header", begin, Resume.find(begin))
    boundary = next(iter(blocks.boundaries(begin, header_end)), None)
    distances = None
    if boundary is not None:
        block_header = raw[boundary - begin :][: blocks.BLOCK_HEADER_SIZE]
        distances = _check_block_header(block_header, boundary, begin, None)
    if len(raw) < header_end - begin:
        return Truncation(begin, len(raw), header_end - begin)
    try:
        header = ChunkHeader.parse(blocks.unframe(raw, begin))
        if begin == 0 and (header.chunk_type, header.data_size, header.num_records) != (SIGNATURE, 0, 0):
            raise DamagedError("the file signature is missing")
    except DamagedError as error:
        raise ChunkDamage(error.message, begin, Resume.find(header_end)) from error
    if boundary is not None and distances is not None and boundary + distances[1] != header.end(begin):
        raise ChunkDamage("a block header disagrees about the chunk's end", begin, Resume.find(header_end))
    return header


def _check_block_header(raw: bytes, boundary: int, begin: int, end: int | None) -> tuple[int, int] | None:
    """Return the distances in the block header `raw`, None if it is cut short.

    It must name the chunk at `begin`, and its `end` where that is known.
    """
    if len(raw) < blocks.BLOCK_HEADER_SIZE:
        return None
    after = boundary + blocks.BLOCK_HEADER_SIZE
    if end is not None and raw == blocks.pack_block_header(boundary - begin, end - boundary):
        return boundary - begin, end - boundary
    distances = blocks.parse_block_header(raw)
    if distances is None:
        raise ChunkDamage("the hash of a block header does not match", begin, Resume.find(after))
    previous_chunk, next_chunk = distances
    if previous_chunk != boundary - begin:
        message = f"the block header at {boundary} names a chunk that begins at {boundary - previous_chunk}"
        raise ChunkDamage(message, begin, _resume_at_other_chunk(boundary, previous_chunk, next_chunk))
    if end is not None and next_chunk != end - boundary:
        raise ChunkDamage("a block header disagrees about the chunk's end", begin, Resume.find(after))
    return distances


def _resume_at_other_chunk(boundary: int, previous_chunk: int, next_chunk: int) -> Resume:
    """Return where to go on after a block header that interrupts another chunk than the one being read."""
    if previous_chunk == 0:
        # That chunk begins right here: a writer appended to an incomplete file. Google's reader would skip it.
        return Resume.at(boundary)
    if next_chunk <= blocks.BLOCK_SIZE:
        return Resume.at(boundary + next_chunk)
    return Resume.find(boundary + blocks.BLOCK_HEADER_SIZE)


def _check_torn_chunk(source: Source, begin: int, data_begin: int, data_end: int, end: int) -> None:
    """Check for another chunk where the rest of this one should be: a writer may have appended after a crash."""
    for boundary in blocks.boundaries(data_begin, data_end):
        _check_block_header(source.read(boundary, blocks.BLOCK_HEADER_SIZE), boundary, begin, end)
