"""Whole episodes for frameworks: methods of `Dataset`."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from numpy.typing import DTypeLike

from rlds_kit.episode.episode import Episode
from rlds_kit.loader.episodes import EpisodeNumbers, WholeEpisodes, with_step_index
from rlds_kit.loader.last_step import LastStep, with_last_step
from rlds_kit.loader.ordered import ordered
from rlds_kit.loader.plan import Options
from rlds_kit.loader.source import Source
from rlds_kit.loader.step_arrays import StepArrays


class Snapshot(Protocol):
    """The interface of `Dataset` that is used here."""

    @property
    def episodes(self) -> Sequence[Episode]:
        """The episodes."""

    def source(self) -> Source:
        """The source of their steps."""


class EpisodeFeeds:
    """The methods of `Dataset` that give whole episodes to a framework."""

    def as_tf_dataset(
        self: Snapshot,
        *,
        metadata: Sequence[str] = (),
        dtypes: Mapping[str, DTypeLike] | None = None,
        observation_valid: bool = False,
        last_step: LastStep = "zeros",
    ) -> Any:  # tf.data.Dataset
        """The episodes as a `tf.data.Dataset` in the form of RLDS.

        An element is `{"steps": tf.data.Dataset, "episode_id": string, "end": string}` and the chosen metadata; `end`
        is the value of an `EpisodeEnd`, and empty while the episode is being recorded. A step is a dict of the selected
        fields, of `is_first`, `is_last` and `is_terminal`, and of `step_index` if the dataset has it, which shows gaps.
        Undefined values are zeros. Up to 36 MiB of steps are read with their episode, more if blocks are large, the
        others when they are accessed: an episode may be larger than memory.

        Args:
          metadata: keys of episode metadata to include; all episodes must have them.
          dtypes: to convert fields to, by name.
          observation_valid: adds a field of that name to steps, False where there is no observation. Required for data
            that lack final observations: without it, reading such an episode is an error.
          last_step: the action of the last step, which has none: "zeros"; "repeat" uses the action of the previous
            step; "drop" leaves the step out, and `is_last` is at the previous step.

        Returns:
          A dataset of known cardinality, of datasets of known cardinality.

        Raises:
          MissingExtraError: TensorFlow is not installed.
          SpecError: a field cannot become a tensor, or an episode lacks the metadata, or has no action to repeat or
            that would be left.
          ValueError: `last_step` is invalid.

        >>> episodes = ds.as_tf_dataset(metadata=["score"])  # doctest: +SKIP
        >>> steps = episodes.flat_map(lambda episode: episode["steps"])  # doctest: +SKIP
        """
        from rlds_kit.loader import tf

        source = with_last_step(with_step_index(self.source()), last_step)
        table = WholeEpisodes(self.episodes, source, metadata, dtypes)
        return tf.episodes(StepArrays(table, observation_valid=observation_valid, last_step=last_step))

    def as_dense_tf_dataset(
        self: Snapshot,
        *,
        metadata: Sequence[str] = (),
        dtypes: Mapping[str, DTypeLike] | None = None,
        observation_valid: bool = False,
        last_step: LastStep = "zeros",
    ) -> Any:  # tf.data.Dataset
        """Returns episodes for TensorFlow, all steps of each as one dict of tensors `[T, ...]`: several times faster.

        An element is `{"steps": {field: tensor, ...}, "episode_id": string, "end": string}` and the chosen metadata.
        The functions of `rlds_kit.transformations` take such steps. Several episodes are in memory at once.

        Args:
          metadata: as for `as_tf_dataset`.
          dtypes: as for `as_tf_dataset`.
          observation_valid: as for `as_tf_dataset`.
          last_step: as for `as_tf_dataset`.

        Returns:
          A dataset of known cardinality, in the order of the episodes.

        Raises:
          MissingExtraError: TensorFlow is not installed.
          SpecError: a field cannot become a tensor `[T, ...]`, or an episode lacks the metadata.
        """
        from rlds_kit.loader import tf

        source = with_last_step(with_step_index(self.source()), last_step)
        table = WholeEpisodes(self.episodes, source, metadata, dtypes)
        return tf.dense_episodes(StepArrays(table, observation_valid=observation_valid, last_step=last_step))

    def as_torch_dataset(
        self: Snapshot, *, metadata: Sequence[str] = (), dtypes: Mapping[str, DTypeLike] | None = None
    ) -> Any:  # torch.utils.data.Dataset
        """The episodes as a map-style `torch.utils.data.Dataset`.

        An item has the selected fields as tensors `[steps, ...]`; `valid`, for each of them which steps are defined;
        `episode_id` and `end`, the value of an `EpisodeEnd`; and the chosen metadata. Episodes differ in length, so a
        `DataLoader` needs `batch_size=None`, or a `collate_fn` that pads.

        Args:
          metadata: keys of episode metadata to include; all episodes must have them.
          dtypes: to convert fields to, by name.

        Raises:
          MissingExtraError: PyTorch is not installed.
          SpecError: an episode lacks the metadata.
          ValueError: a field or metadata have a name that an item uses for something else.
        """
        from rlds_kit.loader import torch

        return torch.episodes_dataset(WholeEpisodes(self.episodes, self.source(), metadata, dtypes).named_apart())

    def torch_sampler(
        self: Snapshot,
        seed: int = 0,
        *,
        shard: tuple[int, int] = (0, 1),
        drop_remainder: bool = False,
        state: dict[str, Any] | None = None,
    ) -> Any:  # torch.utils.data.Sampler[int]
        """A shuffled order of the episodes for a `DataLoader`: as `Samples.torch_sampler` for samples."""
        from rlds_kit.loader import torch

        order = ordered(EpisodeNumbers(self.source()), Options(1, "global", seed, drop_remainder, shard))
        return torch.sampler(order, state)

    def as_grain_source(
        self: Snapshot,
        *,
        seed: int | None = None,
        epochs: int = 1,
        metadata: Sequence[str] = (),
        dtypes: Mapping[str, DTypeLike] | None = None,
    ) -> Any:  # grain.sources.RandomAccessDataSource
        """The episodes as a source for Grain; an element is like an item of `as_torch_dataset`, of NumPy arrays.

        Args:
          seed: of a shuffled order, which is that of `torch_sampler`; None keeps that of the data.
          epochs: how many epochs the source has, one after the other, each in its own order.
          metadata: as for `as_torch_dataset`.
          dtypes: as for `as_torch_dataset`.

        Raises:
          MissingExtraError: Grain is not installed.
          SpecError: an episode lacks the metadata.
          ValueError: a field or metadata have a name that an element uses for something else.
        """
        from rlds_kit.loader import grain

        source = self.source()
        order = ordered(EpisodeNumbers(source), Options(1, None if seed is None else "global", seed or 0))
        return grain.source(WholeEpisodes(self.episodes, source, metadata, dtypes).named_apart(), order, epochs)
