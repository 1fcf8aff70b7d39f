"""The jobs of the writer thread."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol, TypeAlias

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage.column import Column
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.lane_blocks import EncodedBlock, Form


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


class Whole(NamedTuple):
    """An episode all of whose rows are in one buffer, beside those of other episodes.

    Attributes:
      episode_id: of the episode.
      rows: number of rows, at least 1.
      buffer: with the rows.
      start: its serialized EpisodeStart.
      end: its serialized EpisodeEnd, without the digest.
      ending: how it ends, a value of pb.EpisodeEnd.ending.
    """

    episode_id: bytes
    rows: int
    buffer: BufferedRows
    start: bytes
    end: bytes
    ending: int


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


class Jobs:
    """Several jobs in order, which are done once, however often they are queued. All whole episodes are of one buffer.

    Args:
      count: number of parts of episodes.
      jobs: made one by one, in the writer thread: Python's garbage collector would look at each that waits.

    Attributes:
      count: number of parts of episodes.
    """

    def __init__(self, count: int, jobs: "Iterator[Job]") -> None:
        self.count = count
        self._jobs: Iterable[Job] = jobs

    def take(self) -> "Iterable[Job]":
        """The jobs at the first call, none at others."""
        jobs, self._jobs = self._jobs, ()
        return jobs


Job: TypeAlias = Start | Block | Whole | End | Discard | Sync | Jobs
