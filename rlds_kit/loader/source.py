"""The source of a loader: selected episodes and fields."""

import base64
import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Final

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_reader import EpisodeReader

NAME_BYTES: Final = 8
"""Bytes of an episode's id: enough to distinguish a billion episodes; the digest would detect a collision."""


@dataclass(frozen=True, eq=False)
class Source:
    """Episodes and fields of a dataset.

    Attributes:
      name: of the dataset, for messages.
      entries: the positions of the episodes in their shards.
      numbers: `[episodes]` int64, of each in the dataset.
      ended: `[episodes]` bool, whether each is no longer being recorded.
      reader: opens the episode of an index. In a pickled copy it opens the files again.
      spec: of all fields.
      fields: the names of the selected ones, including flags.
      amended: `[episodes]` bool, which of them may have other values than their shards; None: none of them.
      metadata: the spec that the metadata of every episode fit; None if it is not known.
    """

    name: str
    entries: Entries
    numbers: np.ndarray
    ended: np.ndarray
    reader: Callable[[int], EpisodeReader]
    spec: specs.Dict
    fields: tuple[str, ...]
    metadata: specs.Spec | None = None
    amended: np.ndarray | None = None

    @functools.cached_property
    def lengths(self) -> np.ndarray:
        """The number of steps in each episode, `[episodes]` int64."""
        return self.entries.column("rows")

    @property
    def is_amended(self) -> np.ndarray:
        """`[episodes]` bool, which episodes may have other values than their shards."""
        return np.zeros(len(self.entries), np.bool_) if self.amended is None else self.amended

    @functools.cached_property
    def bases(self) -> np.ndarray:
        """The number of steps in all previous episodes, `[episodes]` int64, so that every step has a number."""
        before: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return before

    @functools.cached_property
    def digest(self) -> str:
        """Identifies the episodes, their order and their lengths."""
        rows = self.lengths.astype("<i8").view(np.uint8).reshape(-1, 8)
        episodes = np.concatenate([self.entries.column("episode_id", np.uint8), rows], axis=1)
        return hashlib.blake2b(episodes.tobytes(), digest_size=16).hexdigest()

    @functools.cached_property
    def names(self) -> str:
        """The episodes in short: half of the id of each."""
        return base64.b64encode(self.entries.column("episode_id", np.uint8)[:, :NAME_BYTES].tobytes()).decode()

    def named(self, names: str) -> "Source":
        """The episodes of these names, in their order; unknown names are ignored."""
        found = base64.b64decode(names)
        here = {key[:NAME_BYTES]: number for number, key in enumerate(self.entries.ids().tolist())}
        wanted = (found[at : at + NAME_BYTES] for at in range(0, len(found), NAME_BYTES))
        return self.take([here[name] for name in wanted if name in here])

    def take(self, numbers: Sequence[int]) -> "Source":
        """The episodes of these numbers."""
        chosen = np.array(numbers, np.int64)
        return replace(
            self,
            entries=self.entries[chosen],
            numbers=self.numbers[chosen],
            ended=self.ended[chosen],
            reader=_Taken(self.reader, numbers),
            amended=None if self.amended is None else self.amended[chosen],
        )


@dataclass(frozen=True)
class _Taken:
    """Opens some episodes of a source by their index among these."""

    reader: Callable[[int], EpisodeReader]
    numbers: Sequence[int]

    def __call__(self, index: int) -> EpisodeReader:
        return self.reader(self.numbers[index])
