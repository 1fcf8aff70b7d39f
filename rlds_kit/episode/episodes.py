"""The episodes of a dataset, and all of their steps, as sequences."""

from collections.abc import Callable, Iterator, Sequence
from typing import Self, overload

import numpy as np

from rlds_kit.episode.episode import Episode, Step


class Episodes(Sequence[Episode]):
    """The episodes of a dataset, as a sequence; slices have the same type. Iterators are independent of each other."""

    def __init__(self, episode: Callable[[int], Episode], order: np.ndarray) -> None:
        self._episode, self._order = episode, order

    def __len__(self) -> int:
        return len(self._order)

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> Self: ...

    def __getitem__(self, index: int | slice) -> Episode | Self:
        """Returns one episode, or a sequence of several.

        Raises:
          IndexError: there is no such episode.
        """
        if isinstance(index, slice):
            return type(self)(self._episode, self._order[index])
        if not -len(self) <= index < len(self):
            raise IndexError(f"the dataset has {len(self)} episodes, there is no episode {index}")
        return self._episode(int(self._order[index]))

    def __iter__(self) -> Iterator[Episode]:
        return (self._episode(int(index)) for index in self._order)


class DatasetSteps(Sequence[Step]):
    """The steps of a dataset, as one sequence. Iterators are independent of each other."""

    def __init__(self, episodes: Episodes, lengths: Sequence[int]) -> None:
        self._episodes = episodes
        self._ends = np.cumsum(np.array(lengths, np.int64))

    def __len__(self) -> int:
        return int(self._ends[-1]) if len(self._ends) else 0

    @overload
    def __getitem__(self, index: int) -> Step: ...

    @overload
    def __getitem__(self, index: slice) -> list[Step]: ...

    def __getitem__(self, index: int | slice) -> Step | list[Step]:
        """A step, or a list of steps.

        Raises:
          IndexError: there is no such step.
        """
        if isinstance(index, slice):
            return [self[at] for at in range(len(self))[index]]
        if not -len(self) <= index < len(self):
            raise IndexError(f"the dataset has {len(self)} steps, there is no step {index}")
        at = index % len(self)
        number = int(np.searchsorted(self._ends, at, "right"))
        episode = self._episodes[number]
        return episode.steps[at - int(self._ends[number]) + len(episode)]

    def __iter__(self) -> Iterator[Step]:
        return (step for episode in self._episodes for step in episode.steps)
