"""Datasets of rlds_kit for checks: reads only requested columns."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.base.origin import lossy_of
from rlds_kit.base.step import ACTION, OBSERVATION, REWARD
from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.lint.subject import Leaf, SubjectEpisode, Wanted
from rlds_kit.spec.describe import describe_spec
from rlds_kit.storage.episode_reader import EpisodeReader

_PLAYED: Final = (OBSERVATION, ACTION, REWARD)


class OwnSubject:
    """A dataset of rlds_kit. A `Subject`."""

    def __init__(self, dataset: Dataset) -> None:
        self._dataset, self._source = dataset, dataset.source()
        self.name = str(dataset.path)
        self.spec = dataset.spec
        self.metadata: Mapping[str, Any] = dataset.metadata
        self.lossy: Mapping[str, str] = lossy_of(self.metadata)
        self.deviations: Mapping[str, Sequence[str]] = {
            name: [describe_spec(each) for each in came] for name, came in dataset.deviations.items()
        }
        self.expected = len(dataset.episodes)
        self.size = sum(path.stat().st_size for path in set(dataset.shards()))
        self.damage: Sequence[str] = [
            f"{name}, bytes {region.begin} to {region.end}: {region.message}"
            for name, regions in dataset.damage.items()
            for region in regions
        ]
        self.losses: Sequence[str] = ()

    def __iter__(self) -> Iterator[SubjectEpisode]:
        """The episodes in order."""
        for number, episode in enumerate(self._dataset.episodes):
            yield OwnEpisode(number, episode, self._source.reader(number))


class OwnEpisode(SubjectEpisode):
    """An episode of our own format."""

    def __init__(self, number: int, episode: Episode, reader: EpisodeReader) -> None:
        self.number, self.length, self.digest = number, episode.length, episode.content_digest
        self._episode, self._reader = episode, reader

    # The following is read on access; a damaged record is an error only for rules that read it.
    end = property(lambda self: self._episode.end)
    terminated = property(lambda self: self._episode.terminated)
    truncated = property(lambda self: self._episode.truncated)
    seed = property(lambda self: self._episode.seed)
    options = property(lambda self: self._episode.options)
    metadata = property(lambda self: self._cached("metadata"))
    provenance = property(lambda self: self._cached("provenance"))

    def _cached(self, name: str) -> Any:
        """The values that are decoded once."""
        if name not in self.memory:
            self.memory[name] = getattr(self._episode, name)
        return self.memory[name]

    def leaves(self, wanted: Wanted, begin: int, end: int) -> dict[str, Leaf]:
        """The requested leaves with values in rows `[begin, end)`."""
        found = {}
        for path, stack in self._reader.stacks(begin, end, wanted).items():
            values, present = stack.result()
            rows = np.flatnonzero(present)
            if len(rows):
                found[path] = Leaf(values if len(rows) == len(values) else values[rows], rows + begin)
        return found

    def rows(self, begin: int, end: int) -> list[dict[str, Any]]:
        """The defined values of observation, action and reward, as recorded."""
        part = self._episode[begin:end]
        masks = {name: _mask(part, name) for name in _PLAYED if name in part.fields}
        return [
            {name: step[name] for name, mask in masks.items() if mask[index]} for index, step in enumerate(part.steps)
        ]


def _mask(part: Episode, name: str) -> np.ndarray:
    try:
        return part.mask(name)
    except KeyError:  # none of these steps has it
        return np.zeros(part.length, np.bool_)
