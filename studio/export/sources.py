"""The datasets that exported episodes come from."""

import uuid
from collections.abc import Sequence

from rlds_kit.base.errors import NotADatasetError
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.storage import directory as directories


class Sources:
    """Opens datasets, each once, and finds episodes in them."""

    def __init__(self) -> None:
        self._open: dict[str, _Source | None] = {}

    def episode(self, directory: str, wanted: str, fields: Sequence[str] | None = None) -> Episode | None:
        """An episode that is complete; None if it is not there.

        Args:
          directory: of its dataset.
          wanted: its id.
          fields: that are wanted of its steps; others need not be read. None: all.
        """
        source = self._source(directory)
        number = None if source is None else source.numbers.get(uuid.UUID(wanted))
        if source is None or number is None:
            return None
        is_selectable = fields is not None and not any("/" in name for name in fields)  # that would be a path
        dataset = source.dataset.select(*fields) if is_selectable and fields else source.dataset
        return dataset.episodes[number]

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
        """About how many bytes a step takes."""
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
    """A dataset, and where in it episodes are."""

    def __init__(self, dataset: Dataset) -> None:
        self.dataset = dataset
        self.numbers = {episode.id: number for number, episode in enumerate(dataset.episodes)}
