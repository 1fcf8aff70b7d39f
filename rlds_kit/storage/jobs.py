"""The jobs of the writer thread."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.lane_blocks import EncodedBlock, EncodedLanes, Form


class BufferedRows(Protocol):
    """The rows of a block that are not written yet.

    Attributes:
      nbytes: of all rows.
    """

    nbytes: int

    def seal(self) -> list[Column]:
        """All columns that have rows. Nothing can be added afterwards."""

    def forms(self) -> Sequence[Form]:
        """The columns, if they can be encoded together with those of other blocks; else none."""

    def encoded(self, choose: FilterChoice) -> EncodedBlock | None:
        """The block, encoded together with others; None if it must be encoded alone.

        Called once, or again after None.
        """

    def release(self) -> None:
        """Frees the memory; columns that `seal` returned must not be used any more."""


class Start(NamedTuple):  # made in a quarter of the time of a frozen dataclass
    """An episode begins."""

    start: pb.EpisodeStart


class Block(NamedTuple):
    """The next rows of an episode.

    Attributes:
      episode_id: of the episode.
      rows: their numbers.
      buffer: with the rows.
      is_whole: whether these are all rows of the episode.
    """

    episode_id: bytes
    rows: range
    buffer: BufferedRows
    is_whole: bool = False


class End(NamedTuple):
    """An episode ends; the writer thread computes its digest."""

    end: pb.EpisodeEnd


@dataclass(frozen=True, slots=True)
class Discard:
    """An episode that is partly on disk is discarded; it had `rows` rows."""

    episode_id: bytes
    rows: int


@dataclass(frozen=True, slots=True)
class Sync:
    """All jobs before this one must be made durable; `ticket` is the number of the request."""

    ticket: int


class PartRows(Protocol):
    """The rows of all parts of episodes in one buffer."""

    def forms(self) -> Sequence[Form]:
        """The columns, if all parts can be encoded together; else none."""

    def lanes(self, choose: FilterChoice) -> EncodedLanes:
        """All parts, encoded together; the first call encodes their columns."""

    def part(self, number: int) -> BufferedRows:
        """The rows of a part."""

    def release(self, rows: int) -> int:
        """Called when so many rows more were written; returns their bytes. Frees the memory after all rows."""


class Parts(NamedTuple):
    """Parts of episodes that are written together; each is of another episode.

    In lists, because Python's garbage collector would look at an object for each.

    Attributes:
      rows: of all parts, and others; None: none has any.
      numbers: by which `rows` knows the parts.
      ids: of the episodes.
      first_rows: the number of the first row of each in its episode.
      end_rows: of each one past the last.
      starts: of those that begin the serialized EpisodeStart; of others nothing.
      ends: of those that end the serialized EpisodeEnd, without the digest; of others nothing.
      are_whole: whether all parts are whole episodes; if not, none is.
    """

    rows: PartRows | None
    numbers: list[int]
    ids: list[bytes]
    first_rows: list[int]
    end_rows: list[int]
    starts: list[bytes]
    ends: list[bytes]
    are_whole: bool

    def row_count(self) -> int:
        """The number of rows of all parts."""
        return sum(self.end_rows) - sum(self.first_rows)

    def some(self, begin: int, stop: int) -> "Parts":
        """Some of the parts, which follow each other."""
        if begin == 0 and stop == len(self.ids):
            return self
        numbers, ids, starts, ends = self.numbers[begin:stop], self.ids[begin:stop], self.starts[begin:stop], self.ends
        first_rows, end_rows = self.first_rows[begin:stop], self.end_rows[begin:stop]
        return Parts(self.rows, numbers, ids, first_rows, end_rows, starts, ends[begin:stop], self.are_whole)


class Jobs:
    """Parts of episodes in order, which are written once, however often they are queued.

    Args:
      count: number of parts of episodes.
      parts: made some at a time, in the writer thread: Python's garbage collector would look at each that waits.

    Attributes:
      count: number of parts of episodes.
    """

    def __init__(self, count: int, parts: Iterator[Parts]) -> None:
        self.count = count
        self._parts: Iterable[Parts] = parts

    def take(self) -> Iterable[Parts]:
        """The parts at the first call, none at others."""
        parts, self._parts = self._parts, ()
        return parts


Job: TypeAlias = Start | Block | End | Discard | Sync | Jobs
