"""Reads and writes our own datasets for conversions."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.base.origin import SOURCE, lossy_of
from rlds_kit.base.step import ACTED_FIELDS, DECLARED_FIELDS, INFO, OBSERVATION, EpisodeEnd
from rlds_kit.convert.episode_content import same
from rlds_kit.convert.protocol import ForeignEpisode, Format, Loss, PartReader, Reader, Row, Target
from rlds_kit.convert.rows import Rows, RowSequence
from rlds_kit.dataset.dataset import open_dataset
from rlds_kit.episode.episode import Episode
from rlds_kit.episode.exact_columns import ExactColumns
from rlds_kit.storage import directory as directories
from rlds_kit.storage.episode_recorder import EpisodeRecorder
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from rlds_kit.tools.upkeep.closing import note_closed


@dataclass(frozen=True, slots=True)
class _Run:
    """A run of a recorder.

    Attributes:
      is_first: whether its metadata are those of the first run.
      environment: of its episodes, if that is not the environment of the first run; else empty.
    """

    is_first: bool
    environment: dict[str, Any]


class DatasetReader(PartReader):
    """Reads a dataset of ours.

    A field belongs to the action side if it has values exactly on the steps with an action.
    """

    def __init__(self, path: Path) -> None:
        self._dataset = open_dataset(path)
        description = self._dataset.description
        self.about: Mapping[str, str] = {key: str(description.get(key) or "") for key in directories.ABOUT}
        self.spec = self._dataset.spec
        self.metadata: Mapping[str, Any] = self._dataset.metadata
        self.environment: Mapping[str, Any] = self._dataset.environment
        self.size = sum(shard.stat().st_size for shard in directories.shards_in(path))
        self.lossy: Mapping[str, str] = lossy_of(self.metadata)
        self.losses: list[Loss] = []
        self._runs: dict[bytes, _Run] = {}

    def __len__(self) -> int:
        return len(self._dataset.episodes)

    def weigh(self, _progress: Callable[[int], None]) -> Sequence[int]:
        """Estimates the bytes of each episode from its number of steps."""
        lengths = self._dataset.lengths()
        return [length * self.size // max(1, sum(lengths)) for length in lengths]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes."""
        self.losses.clear()
        for number in range(begin, end):
            yield self._read(self._dataset.episodes[number])

    def _run(self, episode: Episode) -> "_Run":
        """The data that the episodes of a shard have in common."""
        found = self._runs.get(episode.shard_id)
        if found is None:
            environment = episode.run_environment
            others = {} if same(environment, self.environment) else environment
            found = _Run(same(episode.run_metadata, self.metadata), others)
            if episode.shard_id:  # a forged header may lack it
                self._runs[episode.shard_id] = found
        return found

    def _read(self, episode: Episode) -> ForeignEpisode:
        run = self._run(episode)
        if not run.is_first:
            self.losses.append(Loss("run metadata", "only those of the first run are converted"))
        end = EpisodeEnd.INTERRUPTED if episode.end in (None, EpisodeEnd.INCOMPLETE) else episode.end
        if end is not episode.end:
            self.losses.append(Loss("end", "INCOMPLETE becomes INTERRUPTED: a copy is complete"))
        if episode.annotations():
            self.losses.append(Loss("layers", "only verbs that edit datasets of ours carry annotations"))
        columns = ExactColumns(episode)
        masks = columns.masks
        acted = _acted_fields(masks)
        observed = [name for name in masks if name not in acted]
        lacks_final = OBSERVATION in masks and not masks[OBSERVATION][-1]
        own = {
            name: value
            for name, value in (run.environment | episode.own_provenance).items()
            if name not in self.environment or not same(self.environment[name], value)
        }
        return ForeignEpisode(
            _rows(episode, columns, observed, len(episode) - lacks_final),
            _rows(episode, columns, acted, len(episode) - 1),
            end,
            terminated=episode.terminated,
            truncated=episode.truncated,
            metadata=episode.metadata,
            seed=episode.seed,
            options=episode.options,
            provenance=own,
        )


def _acted_fields(masks: Mapping[str, np.ndarray]) -> list[str]:
    """Action, reward and discount, and fields that are defined on exactly the same steps, but not on every step."""
    base = [name for name in ACTED_FIELDS if name in masks]
    if not base or masks[base[0]].all():
        return base
    where = np.logical_or.reduce([masks[name] for name in base])
    others = [name for name in masks if name not in (*DECLARED_FIELDS, INFO) and np.array_equal(masks[name], where)]
    return [*base, *others]


def _rows(episode: Episode, columns: ExactColumns, names: Sequence[str], length: int) -> RowSequence:
    """The steps of an episode with some of its fields: columns, unless a field has gaps."""
    found = columns.rows(names, length)
    if found is None:
        return _ExactRows(episode, {name: columns.masks[name] for name in names}, length)
    return Rows.of(found)


class _ExactRows(RowSequence):
    """The steps of an episode with some of its fields, as far as these are defined."""

    def __init__(self, episode: Episode, masks: Mapping[str, np.ndarray], length: int) -> None:
        self._episode, self._masks, self._length = episode, masks, length

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Row]:
        for number, step in zip(range(self._length), self._episode.steps, strict=False):
            yield self._chosen(number, step)

    def row(self, number: int) -> Row:
        """The fields of a step."""
        return self._chosen(number, self._episode.steps[number])

    def _chosen(self, number: int, step: Row) -> Row:
        return {name: step[name] for name, mask in self._masks.items() if mask[number] and name in step}


class DatasetWriter:
    """Writes a dataset of rlds_kit, which can store everything. A `Writer`."""

    def __init__(self, target: Target, source: Reader) -> None:
        self._recorder = Recorder(
            target.path,
            source.spec,
            mode="error",
            policy=FlushPolicy.manual(),
            about=source.about,
            metadata={**source.metadata, SOURCE: dict(target.origin)},
            environment=source.environment,
        )

    def fit(self, episode: ForeignEpisode) -> tuple[ForeignEpisode | None, list[Loss]]:
        """Everything can be stored, except an episode without steps."""
        if not episode.observed:
            return None, [Loss("episode", "has no step")]
        return episode, []

    def write(self, episode: ForeignEpisode) -> None:
        """Records an episode."""
        recording = self._recorder.start_episode(
            metadata=episode.metadata, seed=episode.seed, options=episode.options, provenance=episode.provenance
        )
        if isinstance(episode.observed, Rows) and isinstance(episode.acted, Rows):
            recording.extend(episode.observed, episode.acted.without_empty_end(len(episode.observed) - 1))
        else:
            _append(recording, episode)
        recording.end(episode.end, terminated=episode.terminated, truncated=episode.truncated)

    def close(self) -> None:
        """Writes all buffered data."""
        self._recorder.close()


def _append(recording: EpisodeRecorder, episode: ForeignEpisode) -> None:
    """Records the steps of an episode one by one."""
    acted = iter(episode.acted)
    for number, observed in enumerate(episode.observed):
        recording.append(observed, next(acted) or None if number else None)
    final = next(acted, None)
    if final:
        recording.act(final)


def join(parts: Sequence[Path], directory: Path) -> None:
    """Moves the shards of datasets into one, in order; the description is that of the first."""
    (parts[0] / directories.DESCRIPTION).rename(directory / directories.DESCRIPTION)
    names = directories.shard_paths(directory)
    for part in parts:
        for shard in directories.shards_in(part):
            shard.rename(next(names))
    note_closed(directory)


FORMAT: Final = Format(
    name="rlds_kit",
    summary="a dataset of rlds_kit",
    recognises=directories.is_dataset,
    open=DatasetReader,
    create=DatasetWriter,
    join=join,
)
