"""A segment: consecutive steps of a recorded episode, or all of it."""

import uuid
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from rlds_kit.base.arguments import integer


class Recorded(Protocol):
    """An episode, or consecutive steps of one: `rlds_kit.Episode`."""

    @property
    def id(self) -> uuid.UUID:
        """The id of the episode."""

    @property
    def rows(self) -> range:
        """The numbers of these steps in the episode."""

    @property
    def is_whole(self) -> bool:
        """Whether these are all steps."""

    def is_last(self, row: int, /) -> bool:
        """Whether a row, counted from the episode's start, is its last."""


@dataclass(frozen=True, slots=True)
class Segment:
    """Consecutive steps of an episode, or all of it.

    Attributes:
      episode: id of the episode.
      steps: counted from the start of the episode; None: the whole episode.

    Raises:
      ValueError: the steps are not consecutive ones from 0 on.

    >>> Segment(uuid.UUID(int=7), range(10, 35)).length
    25
    """

    episode: uuid.UUID
    steps: range | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.episode, uuid.UUID):
            raise ValueError(f"segment: expected the id of an episode, a UUID, got {self.episode!r}")  # noqa: TRY004
        if self.steps is not None and (self.steps.step != 1 or not self.steps or self.steps.start < 0):
            raise ValueError(f"segment: expected consecutive steps from 0 on, or None for all, got {self.steps!r}")

    @classmethod
    def of(cls, episode: Recorded) -> Self:
        """The segment of an episode, or of a slice of one such as `episode[10:35]`."""
        return cls(episode.id, None if episode.is_whole else episode.rows)

    @property
    def length(self) -> int | None:
        """The number of steps; None: those of the whole episode."""
        return None if self.steps is None else len(self.steps)

    @property
    def order(self) -> tuple[bytes, int, int]:
        """Sort key: the episode, then the steps."""
        return self.episode.bytes, *((-1, -1) if self.steps is None else (self.steps.start, self.steps.stop))


def cut(episodes: Iterable[Recorded], length: int, stride: int | None = None) -> list[Segment]:
    """Lists the segments of a length in which every step has an action: all but an episode's last step.

    Args:
      episodes: for example `dataset.episodes`.
      length: steps of a segment.
      stride: steps from one segment of an episode to the next; None: `length`, so that they do not overlap.

    Raises:
      ValueError: length or stride is not positive.
    """
    length, stride = integer("length", length), integer("stride", length if stride is None else stride)
    if length < 1 or stride < 1:
        raise ValueError(f"expected a length and a stride of at least 1, got {length} and {stride}")
    return [
        Segment(episode.id, range(start, start + length))
        for episode in episodes
        for start in range(episode.rows.start, _acted(episode) - length + 1, stride)
    ]


def _acted(episode: Recorded) -> int:
    """The number of the row after the last one with an action."""
    stop = episode.rows.stop
    return stop - (stop > episode.rows.start and episode.is_last(stop - 1))
