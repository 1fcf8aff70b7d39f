"""The datasets that exported episodes come from."""

import functools
import uuid

from rlds_kit.base.errors import NotADatasetError
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.storage import directory as directories
from rlds_kit.tools.upkeep.source import SourceEpisode, read_source


class Sources:
    """Opens datasets, each once, and finds episodes in them."""

    def __init__(self) -> None:
        self._open: dict[str, _Source | None] = {}

    def episode(self, directory: str, wanted: str) -> Episode | None:
        """A complete episode; None if there is none with this id.

        Args:
          directory: of its dataset.
          wanted: the id of the episode.
        """
        source = self._source(directory)
        number = None if source is None else source.numbers.get(uuid.UUID(wanted))
        return None if source is None or number is None else source.dataset.episodes[number]

    def stored(self, directory: str, wanted: str) -> SourceEpisode | None:
        """The shard of an episode, and its place in it; None if there is none with this id."""
        source = self._source(directory)
        return None if source is None else source.stored.get(uuid.UUID(wanted))

    def dataset(self, directory: str) -> Dataset:
        """A dataset.

        Raises:
          NotADatasetError: there is none.
        """
        source = self._source(directory)
        if source is None:
            raise NotADatasetError(f"{directory}: expected a dataset, but it is gone")
        return source.dataset

    def step_bytes(self, directory: str) -> float:
        """The approximate size of a step in bytes."""
        dataset = self.dataset(directory)
        size = sum(shard.stat().st_size for shard in directories.shards_in(dataset.path))
        return size / max(1, sum(dataset.lengths()))

    def _source(self, directory: str) -> "_Source | None":
        if directory not in self._open:
            try:
                self._open[directory] = _Source(open_dataset(directory))
            except NotADatasetError:
                self._open[directory] = None
        return self._open[directory]


class _Source:
    """A dataset, and the places of its episodes."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.numbers = {episode.id: number for number, episode in enumerate(dataset.episodes)}

    @functools.cached_property
    def stored(self) -> dict[uuid.UUID, SourceEpisode]:
        """The episodes in their shards, by id."""
        return {episode.id: episode for episode in read_source(str(self.dataset.path)).episodes}
