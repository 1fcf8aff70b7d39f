"""Parts of a source: consecutive pieces, mostly episodes, whose whole episodes one task converts and compares."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from rlds_kit.convert.protocol import ForeignEpisode, PartReader, Reader

PART_BYTES: Final = 4 << 20
"""The least size of a part when it is decoded, because each is at least one file of the result."""
LARGE_PART_BYTES: Final = 64 << 20
"""The size of parts of large sources: a killed conversion loses this much for each worker."""
PARTS: Final = 32
"""The number of parts of sources between these sizes, if all of them were of the same size."""
MOST_PARTS: Final = 1024
"""The largest number of parts, for very large sources, but for the small ones at their end."""
LAST_SHARE: Final = 8
"""The last eighth of the bytes of a source is divided into smaller parts, so that all workers end at about the same
time."""
SMALLER: Final = 4
"""How many times smaller these are, but never smaller than `PART_BYTES`, or what the caller gives instead."""


@dataclass(frozen=True, slots=True)
class Part:
    """Consecutive pieces of a source, which one task converts.

    Attributes:
      number: of the part.
      begin: first piece.
      end: one past the last one; None: the whole source, in one pass.
      unit: name of the pieces in messages; see `PartReader`.
    """

    number: int
    begin: int
    end: int | None
    unit: str = PartReader.unit

    def __str__(self) -> str:
        return "the source" if self.end is None else f"{self.unit} {self.begin} up to {self.end} of the source"

    def place(self, count: int) -> str:
        """Names the episode of this part that has so many before it."""
        return f"episode {self.begin + count}" if self.unit == PartReader.unit else f"episode {count} in {self}"


def least_bytes(size: int, decoded: int, part_bytes: int = PART_BYTES) -> int:
    """The minimum bytes of a part in the source, where a gigabyte of decoded frames may take only some megabytes.

    Args:
      size: bytes of the source.
      decoded: bytes of its steps when they are decoded; 0: unknown.
      part_bytes: minimum bytes of a part when decoded.

    >>> least_bytes(1_000, 250_000, 50_000), least_bytes(1_000, 0, 50_000)
    (200, 50000)
    """
    return max(1, part_bytes * size // max(size, decoded, 1))


def partition(weights: Sequence[int], part_bytes: int = PART_BYTES, unit: str = PartReader.unit) -> list[Part]:
    """Divides pieces into at least one part of about equal bytes; the result depends only on the arguments.

    Args:
      weights: bytes of each piece.
      part_bytes: minimum bytes of a part.
      unit: name of the pieces in messages.

    >>> [(part.begin, part.end) for part in partition([5, 5, 5, 20, 5], 10)]
    [(0, 2), (2, 4), (4, 5)]
    """
    total = sum(weights)
    large = max(part_bytes, min(total // PARTS, LARGE_PART_BYTES), -(-total // MOST_PARTS))
    small, last = max(part_bytes, large // SMALLER), total - total // LAST_SHARE
    cuts, size, done = [0], 0, 0
    for number, weight in enumerate(weights):
        if size >= (large if done < last else small):
            cuts.append(number)
            size = 0
        size += weight
        done += weight
    bounds = zip(cuts, [*cuts[1:], len(weights)], strict=True)
    return [Part(number, begin, end, unit) for number, (begin, end) in enumerate(bounds)]


def episodes_of(reader: Reader, part: Part) -> Iterator[ForeignEpisode]:
    """Reads the episodes of a part."""
    if part.end is None or not isinstance(reader, PartReader):
        return iter(reader)
    return reader.read(part.begin, part.end)
