"""Seeks to a numeric position (chunk begin plus record index): finds the chunk that holds the record.

"Implementation notes" and "Properties of the file format" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from rlds_kit.riegeli import blocks
from rlds_kit.riegeli.chunk_reader import Truncation, read_header
from rlds_kit.riegeli.recovery import ChunkDamage, Resume
from rlds_kit.riegeli.source import Source


def locate(source: Source, position: int) -> tuple[int, int]:
    """Return the begin of the chunk that holds the record at `position`, and the record's index in it.

    A position that no record has means the next record. Only headers are read, about one block's worth.

    Raises:
        ChunkDamage: a header on the way is wrong.
    """
    chunk = _chunk_near(source, position)
    while chunk < position:
        header = read_header(source, chunk)
        if header is None:
            break
        if isinstance(header, Truncation):
            return chunk, position - chunk
        end = header.end(chunk)
        if chunk + header.num_records > position or not source.reaches(end):
            return chunk, position - chunk
        chunk = end
    return chunk, 0


def _chunk_near(source: Source, position: int) -> int:
    """Return a chunk begin from which the chunk of `position` can be walked to, from the block's header."""
    block = position - position % blocks.BLOCK_SIZE
    raw = source.read(block, blocks.BLOCK_HEADER_SIZE)
    while len(raw) < blocks.BLOCK_HEADER_SIZE and block:
        # The file ends before or inside this block header: its chunk is found from the block before.
        block -= blocks.BLOCK_SIZE
        raw = source.read(block, blocks.BLOCK_HEADER_SIZE)
    if len(raw) < blocks.BLOCK_HEADER_SIZE:
        return 0
    after = blocks.BLOCK_HEADER_SIZE + block
    distances = blocks.parse_block_header(raw)
    if distances is None:
        raise ChunkDamage("the hash of a block header does not match", block, Resume.find(after))
    previous_chunk, next_chunk = distances
    chunk = block - previous_chunk if block + next_chunk > position else block + next_chunk
    if chunk < 0 or not blocks.possible_boundary(chunk):
        raise ChunkDamage(f"a block header leads to a chunk at {chunk}", block, Resume.find(after))
    return chunk
