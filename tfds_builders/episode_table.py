"""All episodes of a builder in one table, with splits as stretches, and the selection of data to read."""

import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, overload

import numpy as np

from rlds_kit import Dataset, Episode
from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.base.rlds_types import STEPS
from rlds_kit.base.step import FLAGS, OBSERVATION
from rlds_kit.loader.episodes import WholeEpisodes, with_step_index
from rlds_kit.loader.last_step import LastStep, with_last_step
from rlds_kit.loader.metadata import Metadata, metadata_keys
from rlds_kit.loader.source import Source
from rlds_kit.loader.step_arrays import OBSERVATION_VALID, StepArrays
from rlds_kit.storage.amendment import union
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_reader import EpisodeReader
from rlds_kit.storage.metadata_spec import union_of_all
from rlds_kit.tfds_builders.features import features_of, without_tuples


@dataclass(frozen=True, eq=False)
class EpisodeTable:
    """The episodes of all splits, one split after the other.

    Attributes:
      source: of their steps.
      episodes: the episodes.
      splits: by name, the stretch of episodes in each.
      shards: the file of every episode.
      metadata: keys of metadata to include.
      observation_valid: whether steps have that field.
      last_step: the action of the last step.
      features: a `tfds.features.FeaturesDict` of all data.
    """

    source: Source
    episodes: Sequence[Episode]
    splits: Mapping[str, range]
    shards: Sequence[Path]
    metadata: Sequence[str]
    observation_valid: bool
    last_step: LastStep
    features: Any

    def choose(self, features: Any) -> "Chosen":
        """The data to read for these features, which are some or all of the table's."""
        steps = features[STEPS].feature if STEPS in features else {}
        names = [name for name in self.source.fields if name in steps and name not in FLAGS]
        if OBSERVATION_VALID in steps and OBSERVATION not in names:
            names.append(OBSERVATION)
        fields = {name: _narrowed(self.source.spec.fields[name], steps[name]) for name in names if name in steps}
        chosen = replace(self.source, spec=specs.Dict({**self.source.spec.fields, **fields}), fields=tuple(names))
        facts = [name for name in self.metadata if name in features]
        table = WholeEpisodes(self.episodes, chosen, facts)
        arrays = StepArrays(table, observation_valid=self.observation_valid, last_step=self.last_step)
        nests = without_tuples(arrays.nests)
        # A step must have a field, even if steps are not selected.
        own = tuple(name for name in (*FLAGS, OBSERVATION_VALID) if name in steps) if steps else FLAGS
        selected = {name: _selected(nests[name], steps[name]) for name in nests if name in steps}
        return Chosen(arrays.regrouped(selected, own), features)


@dataclass(frozen=True, eq=False)
class Chosen:
    """The data to read of the episodes of a table.

    Attributes:
      arrays: of the steps.
      features: of an episode.
    """

    arrays: StepArrays
    features: Any

    @functools.cached_property
    def row_bytes(self) -> int:
        """The bytes of a decoded step."""
        return sum(leaf.row_bytes for found in self.arrays.table.layouts.values() for leaf in found)


def table_of(
    datasets: Mapping[str, Dataset],
    *,
    metadata: Sequence[str] | None = None,
    observation_valid: bool = False,
    last_step: LastStep = "zeros",
) -> EpisodeTable:
    """Puts splits into one table.

    Args:
      datasets: the splits, by name.
      metadata: keys of metadata to include with each episode; None: all.
      observation_valid: whether steps have that field.
      last_step: as for `as_tf_dataset`.

    Raises:
      SpecError: TFDS cannot store a field or a key of metadata exactly, or the splits differ in their fields.
    """
    joint = with_step_index(joined([dataset.source() for dataset in datasets.values()]))
    source = with_last_step(joint, last_step)
    episodes = JoinedEpisodes([dataset.episodes for dataset in datasets.values()])
    chosen = metadata_keys(episodes, source.metadata) if metadata is None else metadata
    examples = Metadata(episodes, chosen, source.metadata).examples
    ends = itertools.accumulate((len(dataset.episodes) for dataset in datasets.values()), initial=0)
    return EpisodeTable(
        source=source,
        episodes=episodes,
        splits=dict(zip(datasets, itertools.starmap(range, itertools.pairwise(ends)), strict=True)),
        shards=[path for dataset in datasets.values() for path in dataset.shards()],
        metadata=chosen,
        observation_valid=observation_valid,
        last_step=last_step,
        features=features_of(source, examples, observation_valid=observation_valid),
    )


def _narrowed(spec: specs.Spec, feature: Any) -> specs.Spec:
    """The part of a spec for a feature; a tuple is read completely."""
    if not isinstance(spec, specs.Dict):
        return spec
    return specs.Dict({key: _narrowed(item, feature[key]) for key, item in spec.fields.items() if key in feature})


def _selected(nest: Any, feature: Any) -> Any:
    return {key: _selected(nest[key], feature[key]) for key in feature} if isinstance(nest, dict) else nest


def joined(sources: Sequence[Source]) -> Source:
    """The episodes of several sources, one source after the other.

    Raises:
      SpecError: they have different fields.
    """
    first, *others = sources
    for other in others:
        if different := sorted({*first.fields} ^ {*other.fields}):
            raise SpecError(
                f"expected splits with the same fields, but only one of {first.name} and {other.name} has {different}; "
                "`select` those that all have"
            )
    if not others:
        return first
    ends = tuple(itertools.accumulate(len(source.entries) for source in sources))
    return Source(
        name=", ".join(dict.fromkeys(source.name for source in sources)),
        entries=Entries.joined([source.entries for source in sources]),
        numbers=np.arange(ends[-1]),
        ended=np.concatenate([source.ended for source in sources]),
        reader=_Readers(tuple(source.reader for source in sources), ends),
        spec=union(source.spec for source in sources),
        fields=first.fields,
        metadata=union_of_all(source.metadata for source in sources),
        amended=np.concatenate([source.is_amended for source in sources]),
    )


@dataclass(frozen=True)
class _Readers:
    """Opens episodes of one source after the other."""

    readers: tuple[Callable[[int], EpisodeReader], ...]
    ends: tuple[int, ...]

    def __call__(self, index: int) -> EpisodeReader:
        at = int(np.searchsorted(self.ends, index, "right"))
        return self.readers[at](index - (self.ends[at - 1] if at else 0))


class JoinedEpisodes(Sequence[Episode]):
    """The episodes of several sequences, one sequence after the other."""

    def __init__(self, parts: Sequence[Sequence[Episode]]) -> None:
        self._parts, self._ends = parts, list(itertools.accumulate(map(len, parts)))

    def __len__(self) -> int:
        return self._ends[-1]

    @overload
    def __getitem__(self, index: int) -> Episode: ...

    @overload
    def __getitem__(self, index: slice) -> list[Episode]: ...

    def __getitem__(self, index: int | slice) -> Episode | list[Episode]:
        """An episode, or a list of them."""
        if isinstance(index, slice):
            return [self[number] for number in range(len(self))[index]]
        number = range(len(self))[index]
        at = int(np.searchsorted(self._ends, number, "right"))
        return self._parts[at][number - (self._ends[at - 1] if at else 0)]
