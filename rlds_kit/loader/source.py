"""The source of a loader: selected episodes and fields."""

import base64
import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader

NAME_BYTES: Final = 8
"""Bytes of an episode's id: enough to distinguish a billion episodes; the digest would detect a collision."""


@dataclass(frozen=True, eq=False)
class Source:
    """Episodes and fields of a dataset.

    Attributes:
      name: of the dataset, for messages.
      entries: the episodes.
      numbers: `[episodes]` int64, of each in the dataset.
      ended: `[episodes]` bool, whether each is no longer being recorded.
      reader: opens the episode of an index. In a pickled copy it opens the files again.
      spec: of all fields.
      fields: the names of the selected ones, including flags.
    """

    name: str
    entries: Sequence[EpisodeEntry]
    numbers: np.ndarray
    ended: np.ndarray
    reader: Callable[[int], EpisodeReader]
    spec: specs.Dict
    fields: tuple[str, ...]

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """`[episodes]` int64, steps of each."""
        return np.array([entry.rows for entry in self.entries], np.int64)

    @functools.cached_property
    def bases(self) -> np.ndarray:
        """`[episodes]` int64: the number of steps in all previous episodes, so that every step has a number."""
        before: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return before

    @functools.cached_property
    def digest(self) -> str:
        """Identifies the episodes, their order and their lengths."""
        found = hashlib.blake2b(digest_size=16)
        for entry in self.entries:
            found.update(entry.episode_id + entry.rows.to_bytes(8, "little"))
        return found.hexdigest()

    @functools.cached_property
    def names(self) -> str:
        """The episodes in short: half of the id of each."""
        return base64.b64encode(b"".join(entry.episode_id[:NAME_BYTES] for entry in self.entries)).decode()

    def named(self, names: str) -> "Source":
        """The episodes of these names, in their order; unknown names are ignored."""
        found = base64.b64decode(names)
        here = {entry.episode_id[:NAME_BYTES]: number for number, entry in enumerate(self.entries)}
        wanted = (found[at : at + NAME_BYTES] for at in range(0, len(found), NAME_BYTES))
        return self.take([here[name] for name in wanted if name in here])

    def take(self, numbers: Sequence[int]) -> "Source":
        """The episodes of these numbers."""
        return replace(
            self,
            entries=[self.entries[number] for number in numbers],
            numbers=self.numbers[list(numbers)],
            ended=self.ended[list(numbers)],
            reader=_Taken(self.reader, numbers),
        )


@dataclass(frozen=True)
class _Taken:
    """Opens some episodes of a source by their index among these."""

    reader: Callable[[int], EpisodeReader]
    numbers: Sequence[int]

    def __call__(self, index: int) -> EpisodeReader:
        return self.reader(self.numbers[index])
