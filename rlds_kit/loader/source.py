"""What a loader reads from: chosen episodes, and which of their fields in what form."""

import functools
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader


@dataclass(frozen=True, eq=False)
class Source:
    """Episodes and fields of a dataset.

    Attributes:
      name: of the dataset, for messages.
      entries: the episodes.
      ended: `[episodes]` bool, whether each is no longer being recorded.
      reader: opens the episode of that index. Of a pickled source it opens the files anew.
      spec: of all fields.
      fields: the names of those that were selected, flags among them.
    """

    name: str
    entries: Sequence[EpisodeEntry]
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
        """`[episodes]` int64: how many steps the episodes before have, so that every step has a number."""
        before: np.ndarray = np.cumsum(self.lengths) - self.lengths
        return before

    def digest(self, episodes: int) -> str:
        """Identifies the first episodes and their lengths."""
        found = hashlib.blake2b(digest_size=16)
        for entry in self.entries[:episodes]:
            found.update(entry.episode_id + entry.rows.to_bytes(8, "little"))
        return found.hexdigest()

    def first(self, episodes: int) -> "Source":
        """The first episodes only."""
        return replace(self, entries=self.entries[:episodes], ended=self.ended[:episodes])
