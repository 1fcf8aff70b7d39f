"""Where reading can go on after damage.

"Chunk" and "Properties of the file format" of
https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rlds_kit.riegeli import blocks
from rlds_kit.riegeli.source import Source


@dataclass(frozen=True, slots=True)
class SkippedRegion:
    """The bytes of a file from `begin` to `end` that could not be read, and why."""

    begin: int
    end: int
    message: str

    def __str__(self) -> str:
        return f"{self.message} (bytes {self.begin} to {self.end} of the file)"


Recovery = Callable[[SkippedRegion], bool]
"""A callback for what could not be read; returns True to go on after it, False to end there."""


@dataclass(frozen=True, slots=True)
class Resume:
    """The position at which the search for the next chunk begins, or (`search`) from which block headers are read."""

    position: int
    search: bool

    @classmethod
    def at(cls, position: int) -> Resume:
        """The end of the damaged chunk is known."""
        return cls(position, search=False)

    @classmethod
    def find(cls, position: int) -> Resume:
        """Resumes after a position before which nothing can be trusted."""
        return cls(position, search=True)


class ChunkDamage(Exception):  # noqa: N818  # damage is what it is; an error is what a caller sees
    """Damage to the chunk at `begin`, and how to get past it. Readers turn it into `DamagedError`."""

    def __init__(self, message: str, begin: int, resume: Resume) -> None:
        super().__init__(message)
        self.message = message
        self.begin = begin
        self.resume = resume


def resume_position(source: Source, resume: Resume) -> int:
    """Return the file position where the next chunk can be read, the file's size if there is none."""
    size = source.size()
    if resume.position >= size:
        return size
    if not resume.search and blocks.possible_boundary(resume.position):
        return resume.position
    return _find_chunk(source, resume.position, size)


def _find_chunk(source: Source, position: int, size: int) -> int:
    """Return the first chunk begin that an intact block header at or after `position` leads to."""
    while True:
        position += -position % blocks.BLOCK_SIZE
        raw = source.read(position, blocks.BLOCK_HEADER_SIZE)
        if len(raw) < blocks.BLOCK_HEADER_SIZE:
            return size
        distances = blocks.parse_block_header(raw)
        if distances is None:
            position += blocks.BLOCK_HEADER_SIZE
            continue
        previous_chunk, next_chunk = distances
        if previous_chunk == 0:
            return position
        position = min(position + next_chunk, size)
        if blocks.possible_boundary(position):
            return position
