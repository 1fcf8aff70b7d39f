"""The interface of datasets of any format, and of their episodes, for checks."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.step import OBSERVATION, EpisodeEnd


@dataclass(frozen=True, slots=True)
class Leaf:
    """The values that some rows of an episode have for one leaf.

    Attributes:
      values: `[n, ...]`; objects where there is no common dtype and shape.
      rows: `[n]` of the episode, ascending.
    """

    values: np.ndarray
    rows: np.ndarray

    @property
    def kind(self) -> str:
        """The kind of the dtype: "f" for floats, "O" for objects."""
        return self.values.dtype.kind


def content(value: Any) -> bytes:
    """The bytes of a value that has no common dtype and shape with others: all of them, where `repr` leaves some out.

    >>> content(np.arange(2000)) == content(np.arange(2000)[::-1]), content("a")
    (False, b"'a'")
    """
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return f"{value.dtype.str}{value.shape}".encode() + value.tobytes()
    return repr(value).encode()


Wanted = Callable[[str], bool]
"""Returns whether to read a leaf of a path."""
MIDDLE_ROWS: Final = 9
"""Rows from the middle of an episode that checks may compare with its end."""


class Subject(Protocol):
    """A dataset.

    Attributes:
      name: its path.
      spec: of its fields.
      metadata: of the dataset.
      lossy: losses from its creation, by field.
      deviations: descriptions of values that do not match the declaration, by field.
      expected: number of episodes in its index.
      size: bytes on disk.
      damage: descriptions of bytes that opening skipped.
    """

    name: str
    spec: specs.Dict
    metadata: Mapping[str, Any]
    lossy: Mapping[str, str]
    deviations: Mapping[str, Sequence[str]]
    expected: int
    size: int
    damage: Sequence[str]

    @property
    def losses(self) -> Sequence[str]:
        """Descriptions of the data that were not read; complete after iterating."""

    def __iter__(self) -> Iterator["SubjectEpisode"]:
        """The episodes in order."""


class SubjectEpisode:
    """An episode of a dataset of any format.

    Attributes:
      number: in its dataset.
      length: number of rows: steps, the last one included.
      end: the way in which it ended.
      terminated: Gymnasium's flag of the last step.
      truncated: Gymnasium's flag of the last step.
      metadata: of the episode.
      seed: of the reset that began it.
      options: of that reset.
      provenance: what is known of its environment.
      digest: of its content, where the format has one; else empty.
    """

    number: int
    length: int
    end: EpisodeEnd | None
    terminated: bool
    truncated: bool
    metadata: Mapping[str, Any]
    seed: Any
    options: Any
    provenance: Mapping[str, Any]
    digest: bytes

    def leaves(self, wanted: Wanted, begin: int, end: int) -> dict[str, Leaf]:
        """The requested leaves with values in rows `[begin, end)`.

        Raises:
          DamagedError: one of them is damaged.
        """
        raise NotImplementedError

    def rows(self, begin: int, end: int) -> list[dict[str, Any]]:
        """The defined values of observation, action and reward in each row, as recorded.

        Raises:
          DamagedError: one of them is damaged.
        """
        raise NotImplementedError

    @functools.cached_property
    def memory(self) -> dict[str, Any]:
        """The values that several checks of the episode share."""
        return {}

    @property
    def actions(self) -> int:
        """The number of rows that may have an action: all but the last, or all if the final observation is missing."""
        return self.length - 1

    @functools.cached_property
    def first(self) -> dict[str, bytes]:
        """The bytes of the first observation, by leaf."""
        return self._observation(0)

    @functools.cached_property
    def last(self) -> dict[str, bytes]:
        """The bytes of the last observation, by leaf; empty where it is missing."""
        return self._observation(self.length - 1)

    @functools.cached_property
    def before_last(self) -> dict[str, bytes]:
        """The bytes of the observation before the last, by leaf."""
        return self._observation(self.length - 2) if self.length > 1 else {}

    @functools.cached_property
    def middle(self) -> list[dict[str, bytes]]:
        """The bytes of consecutive observations that are neither the first nor one of the last two."""
        begin = max(1, (self.length - MIDDLE_ROWS) // 2)
        return self._observations(begin, min(begin + MIDDLE_ROWS, self.length - 2))

    def _observation(self, row: int) -> dict[str, bytes]:
        return next(iter(self._observations(row, row + 1)), {})

    def _observations(self, begin: int, end: int) -> list[dict[str, bytes]]:
        if end <= begin:
            return []
        found: list[dict[str, bytes]] = [{} for _ in range(begin, end)]
        for path, leaf in self.leaves(is_observation, begin, end).items():
            for row, value in zip(leaf.rows.tolist(), leaf.values, strict=True):
                found[row - begin][path] = content(value) if leaf.kind == "O" else value.tobytes()
        return found


def is_observation(path: str) -> bool:
    """Whether a leaf is part of an observation."""
    return path.partition("/")[0] == OBSERVATION
