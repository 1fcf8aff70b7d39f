"""The episodes of a dataset by id; a server has it open while other processes record and annotate."""

import os
import threading
import time
import uuid
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from rlds_kit.dataset.dataset import Dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.layers import Draft, Kind, Layer, LayerWriter
from rlds_kit.remote.path import RemotePath
from rlds_kit.studio.api.errors import ApiError

LOOK_SECONDS: Final = 0.25
"""Time after which the names, sizes and times of the files are read again."""
REFRESH_SECONDS: Final = 10.0
"""Time after which the files themselves are read again, even if unchanged: a writer may have died."""
SHARDS: Final = ".riegeli"
WRITERS: Final = 32
"""Maximum number of open writers, one per person; a person whose writer was closed gets a new file."""


class Collection:
    """A dataset that is updated as it is recorded and annotated. Safe to use from several threads.

    Args:
      dataset: as `rlds_kit.open(path, include_open=True)` gives it.
      layer: where annotations go.

    Attributes:
      layer: as given.
      annotating: locked while annotations are read and new ones that depend on them are written.
    """

    def __init__(self, dataset: Dataset, layer: str = "review") -> None:
        self.layer = layer
        self.annotating = threading.Lock()
        self._lock = threading.Lock()
        self._first = self._dataset = dataset  # data of layers that the first one read is not read again
        self._numbers: dict[uuid.UUID, int] = {}
        self._ids: list[uuid.UUID] = []
        self._files = _files(dataset.path)
        self._looked = self._refreshed = time.monotonic()
        self._count()
        self._writers: OrderedDict[tuple[str, str], tuple[Dataset, LayerWriter]] = OrderedDict()
        self._labels: dict[str, tuple[Layer, dict[uuid.UUID, set[str]]]] = {}

    @property
    def dataset(self) -> Dataset:
        """A recent snapshot of the dataset."""
        return self._seen()[0]

    def number(self, episode: uuid.UUID) -> int:
        """The position of an episode in the dataset.

        Raises:
          ApiError: there is no such episode.
        """
        return self._find(episode)[1]

    def episode(self, episode: uuid.UUID) -> Episode:
        """An episode.

        Raises:
          ApiError: there is no such episode.
        """
        dataset, number = self._find(episode)
        return dataset.episodes[number]

    def layers(self) -> list[Layer]:
        """All layers, with all annotations that are durable now."""
        return [self._first.layer(name) for name in self._first.layers]

    def labels(self) -> Mapping[uuid.UUID, set[str]]:
        """The tags of every episode that has some, including those of its steps; damaged layers are skipped."""
        found: dict[uuid.UUID, set[str]] = {}
        for layer in self.layers():
            for episode, labels in self._labels_of(layer).items():
                found.setdefault(episode, set()).update(labels)
        return found

    def say(self, layer: str, drafts: Sequence[Draft], source: str) -> None:
        """Adds annotations, all or none; they are durable when this returns.

        The caller has locked `annotating`.
        """
        writer = self._writer(layer, source)
        try:
            writer.add_all(drafts)
        except BaseException:
            self._writers.pop((layer, source), None)
            writer.close()
            raise

    def close(self) -> None:
        """Closes the files that annotations were written to."""
        with self.annotating:
            for _, writer in self._writers.values():
                writer.close()
            self._writers.clear()

    def _seen(self, wanted: uuid.UUID | None = None) -> tuple[Dataset, dict[uuid.UUID, int]]:
        """The dataset, and the numbers of its episodes; the caller does not have to wait for a new snapshot."""
        with self._lock:
            is_new = wanted is not None and wanted not in self._numbers
            if is_new or time.monotonic() >= self._looked + LOOK_SECONDS:
                files, self._looked = _files(self._dataset.path), time.monotonic()
                if files != self._files or self._looked >= self._refreshed + REFRESH_SECONDS:
                    self._dataset, self._files = self._dataset.refresh(), files
                    self._count()
                    # For a very large dataset this takes long, and other requests must not wait.
                    now = time.monotonic()
                    self._looked, self._refreshed = now + 10 * (now - self._looked), now
            return self._dataset, self._numbers

    def _count(self) -> None:
        """Numbers the episodes. Known ones have the same numbers as before, unless an earlier one was discarded."""
        episodes, known = self._dataset.episodes, len(self._ids)
        if known and (len(episodes) < known or episodes[known - 1].id != self._ids[-1]):
            self._ids, self._numbers, known = [], {}, 0
        added = [episodes[number].id for number in range(known, len(episodes))]
        self._ids = [*self._ids, *added] if added else self._ids
        self._numbers = self._numbers | {each: number for number, each in enumerate(added, known)}

    def _find(self, episode: uuid.UUID) -> tuple[Dataset, int]:
        dataset, numbers = self._seen(episode)
        if episode not in numbers:
            message = f"there is no episode {episode} in {dataset.path.name}; go back to the table of episodes"
            raise ApiError(404, "no_episode", message, "episode")
        return dataset, numbers[episode]

    def _writer(self, layer: str, source: str) -> LayerWriter:
        """A writer that knows the episodes as they are now, and whether they have ended."""
        seen = self.dataset
        dataset, writer = self._writers.pop((layer, source), (None, None))
        if writer is not None and dataset is not seen:
            writer.close()
            writer = None
        self._writers[layer, source] = seen, writer or seen.annotator(layer, source=source)
        if len(self._writers) > WRITERS:
            self._writers.popitem(last=False)[1][1].close()
        return self._writers[layer, source][1]

    def _labels_of(self, layer: Layer) -> dict[uuid.UUID, set[str]]:
        known, found = self._labels.get(layer.name, (None, {}))
        if known is not layer:
            found = {}
            for each in () if layer.damage else layer.annotations():
                if each.kind is Kind.TAG:
                    found.setdefault(each.episode, set()).add(each.value)
            self._labels[layer.name] = layer, found
        return found


def _files(directory: Path) -> dict[str, tuple[int, int]] | None:
    """Size and time of each shard; None for one that is remote or missing."""
    if isinstance(directory, RemotePath):
        return None
    try:
        found = [(each.name, each.stat()) for each in os.scandir(directory) if each.name.endswith(SHARDS)]
    except OSError:
        return None
    return {name: (stat.st_size, stat.st_mtime_ns) for name, stat in found}
