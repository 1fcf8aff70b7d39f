"""Sources of published episodes: recorded datasets, and any other class with features, keys and episodes."""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Protocol, runtime_checkable

from rlds_kit import Dataset
from rlds_kit.base.errors import DamagedError
from rlds_kit.loader.last_step import LastStep, require_last_step
from rlds_kit.tfds_builders.example import example
from rlds_kit.tfds_builders.features import episode_features

PART_EPISODES: Final = 16
"""Episodes of a dataset that one worker reads in one go."""

Part = Any
"""A part of a source that any process can read: a picklable value of the source's own type."""


@dataclass(frozen=True, slots=True)
class SourceEpisode:
    """An episode to be written by TFDS.

    Attributes:
      key: identifies it among all episodes of all folders, on every machine.
      example: `{"steps": {field: [T, ...]}, **metadata}`, the argument of `features.encode_example`.
    """

    key: str
    example: dict[str, Any]


@runtime_checkable
class EpisodeSource(Protocol):
    """Episodes that a builder can publish. Picklable: with Apache Beam every worker has a copy."""

    @property
    def name(self) -> str:
        """The place of the episodes, for messages."""

    @property
    def features(self) -> Any:  # tfds.features.FeaturesDict
        """The features that every episode has.

        Raises:
          SpecError: TFDS cannot store a field exactly; the message names it.
        """

    @property
    def keys(self) -> Sequence[str]:
        """The keys of all episodes, in order."""

    @property
    def parts(self) -> Sequence[Part]:
        """The episodes in order, divided into parts that can be read independently."""

    def episodes(self, part: Part) -> Iterator[SourceEpisode]:
        """The episodes of a part, one in memory at a time.

        Raises:
          DamagedError, FormatError: one cannot be read; the message names the file.
        """


class DatasetSource:
    """The episodes of a recorded dataset, or of a view of one; the key of an episode is its id.

    Args:
      dataset: `select` and `where` choose fields and episodes.
      metadata: keys of episode metadata to publish; None: all.
      observation_valid: whether steps have the field `observation_valid`, required for data without final observations.
      last_step: as for `Dataset.as_tf_dataset`.
      compress: as for `episode_features`.

    Raises:
      DamagedError: a shard is damaged, so that episodes may be missing.
      ValueError: `last_step` is none of the three.
    """

    def __init__(
        self,
        dataset: Dataset,
        *,
        metadata: Sequence[str] | None = None,
        observation_valid: bool = False,
        last_step: LastStep = "zeros",
        compress: Collection[str] = (),
    ) -> None:
        for shard in dataset.damage:
            raise DamagedError(
                f"{dataset.path / shard}: the shard is damaged, so episodes may be missing; publish what "
                "`rlds-kit repair` saves of it"
            )
        self._dataset, self._metadata, self._observation_valid = dataset, metadata, observation_valid
        self._last_step, self._compress = require_last_step(last_step), compress

    @property
    def name(self) -> str:
        """The directory of the dataset."""
        return str(self._dataset.path)

    @cached_property
    def features(self) -> Any:  # tfds.features.FeaturesDict
        """The features of every episode, as `episode_features` makes them."""
        return episode_features(
            self._dataset,
            metadata=self._metadata,
            observation_valid=self._observation_valid,
            compress=self._compress,
        )

    @cached_property
    def keys(self) -> list[str]:
        """The ids of the episodes."""
        return [str(episode.id) for episode in self._dataset.episodes]

    @property
    def parts(self) -> list[range]:
        """Parts of neighbouring episodes, as ranges of their numbers."""
        count = len(self._dataset.episodes)
        return [range(begin, min(begin + PART_EPISODES, count)) for begin in range(0, count, PART_EPISODES)]

    def episodes(self, part: range) -> Iterator[SourceEpisode]:
        """The episodes of these numbers."""
        for number in part:
            episode = self._dataset.episodes[number]
            yield SourceEpisode(str(episode.id), example(episode, self.features, self._last_step))
