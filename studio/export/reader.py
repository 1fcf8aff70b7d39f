"""Reads the episodes of an export as conversions want them: step by step, only the fields that are kept."""

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, overload

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.step import ACTED_FIELDS, OBSERVATION, REWARD, EpisodeEnd
from rlds_kit.convert.episode_content import same
from rlds_kit.convert.protocol import ForeignEpisode, Loss, Row
from rlds_kit.episode.episode import Episode
from rlds_kit.studio.export.internal import without_personal
from rlds_kit.studio.export.plan import Plan
from rlds_kit.studio.export.rules import TAG, Planned
from rlds_kit.studio.export.sources import Sources

_TOGETHER: Final = 64
"""Steps that are read at once."""


class ExportReader:
    """Reads what a plan says. A `PartReader`.

    Args:
      plan: of the export.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        columns = {f"{TAG}{label}": specs.Array((), "bool") for label in plan.columns}
        self.spec = specs.Dict({**plan.spec.fields, **columns})
        self.about: Mapping[str, str] = {}
        self.metadata: Mapping[str, Any] = {}
        self.environment: Mapping[str, Any] = self._one_environment()
        self.size = sum(each.weight for each in plan.episodes)
        self.lossy: Mapping[str, str] = {}
        self.losses: list[Loss] = []
        self.origin: Mapping[str, Any] = {"export": plan.rules.as_json()}

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_sources"}

    @functools.cached_property
    def _sources(self) -> Sources:
        return Sources()

    def __len__(self) -> int:
        return len(self._plan.episodes)

    def __iter__(self) -> Iterator[ForeignEpisode]:
        """Reads the episodes in order."""
        return self.read(0, len(self))

    def weigh(self, _tell: Callable[[int], None]) -> Sequence[int]:
        """As planned."""
        return [each.weight for each in self._plan.episodes]

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        """Reads some of the episodes."""
        self.losses.clear()
        for number in range(begin, end):
            yield self._episode(number, self._plan.episodes[number])

    def _one_environment(self) -> dict[str, Any]:
        """That of all episodes; nothing if they have several."""
        used = dict.fromkeys(each.chosen.directory for each in self._plan.episodes)
        found = [without_personal(self._sources.dataset(each).environment) for each in used]
        return found[0] if all(same(found[0], each) for each in found[1:]) else {}

    def _episode(self, number: int, planned: Planned) -> ForeignEpisode:
        episode = self._sources.episode(planned.chosen.directory, planned.chosen.id)
        if episode is None or episode.length < planned.rows:
            raise DamagedError(f"episode {planned.chosen.id} was there when the export began, and is gone")
        parts = _Parts(self._sources, episode, planned, self._plan)
        return ForeignEpisode(
            parts.observed(self._plan.columns),
            parts.acted(),
            EpisodeEnd.INTERRUPTED if planned.is_cut else _ending(episode),
            terminated=not planned.is_cut and episode.terminated,
            truncated=not planned.is_cut and episode.truncated,
            metadata=self._metadata(number, planned, episode),
            seed=episode.seed,
            options=without_personal(episode.options),
            provenance=self._provenance(episode),
        )

    def _metadata(self, number: int, planned: Planned, episode: Episode) -> dict[str, Any]:
        recorded = {} if self._plan.rules.strip else without_personal(episode.metadata)
        return {
            **recorded,
            "public_id": planned.chosen.id,
            **planned.chosen.public,
            "episode_index": number,
            "num_steps": planned.rows - 1,
            "total_reward": _total(episode[: planned.rows]),
            **{f"{TAG}{label}": label in planned.labels for label in self._plan.labels},
        }

    def _provenance(self, episode: Episode) -> dict[str, Any]:
        """What is known of the episode's environment beyond that of all."""
        found = without_personal(episode.provenance)
        return {
            name: value
            for name, value in found.items()
            if name not in self.environment or not same(self.environment[name], value)
        }


def _ending(episode: Episode) -> EpisodeEnd:
    """How it ended; a copy is complete, so INCOMPLETE becomes INTERRUPTED."""
    return EpisodeEnd.INTERRUPTED if episode.end in {None, EpisodeEnd.INCOMPLETE} else episode.end


def _total(episode: Episode) -> float:
    """The sum of the rewards of these steps, but of the last; of those that are numbers and finite."""
    try:
        rewards, defined = episode[REWARD], episode.mask(REWARD)
    except KeyError:  # there is none
        return 0.0
    return _sum(rewards, defined & (np.arange(len(defined)) < len(defined) - 1))


def _sum(rewards: Any, counts: np.ndarray) -> float:
    if isinstance(rewards, dict):
        return sum((_sum(each, counts) for each in rewards.values()), 0.0)
    if not isinstance(rewards, np.ndarray):
        return 0.0
    if rewards.dtype == np.object_:
        return sum((_amount(each) for each in rewards[counts]), 0.0)
    if rewards.dtype.kind not in "biuf":
        return 0.0
    values = rewards[counts].astype(np.float64)
    return float(values[np.isfinite(values)].sum())


def _amount(value: Any) -> float:
    """The sum of a reward that has no type in common with others: None, or those of the agents that are there."""
    if isinstance(value, Mapping):
        return sum((_amount(each) for each in value.values()), 0.0)
    array = np.asarray(value)
    return float(array[np.isfinite(array)].sum()) if array.dtype.kind in "biuf" else 0.0


class _Parts:
    """The two halves of an episode: what was seen, and what was done."""

    def __init__(self, sources: Sources, episode: Episode, planned: Planned, plan: Plan) -> None:
        self._sources, self._episode, self._planned, self._plan = sources, episode, planned, plan
        names = [name for name in episode.fields if name in plan.fields_after]
        self._acted = [name for name in names if _is_acted(episode, name)]
        self._observed = [name for name in names if name not in self._acted]

    def observed(self, columns: Sequence[str]) -> "_Rows":
        """What was seen, with the columns of tags."""
        may_lack = not self._planned.is_cut and OBSERVATION in self._observed
        lacks_final = may_lack and not _has(self._episode[-1:], OBSERVATION)
        return self._rows(self._observed, self._planned.rows - lacks_final, _tag_columns(self._planned, columns))

    def acted(self) -> "_Rows":
        """What was done."""
        return self._rows(self._acted, self._planned.rows - 1, {})

    def _rows(self, names: Sequence[str], length: int, more: Mapping[str, np.ndarray]) -> "_Rows":
        chosen = self._planned.chosen
        episode = self._sources.episode(chosen.directory, chosen.id, names) or self._episode
        return _Rows(episode, names, length, self._plan.spec, more)


def _is_acted(episode: Episode, name: str) -> bool:
    """Whether a field belongs to what was done: it is on the step before the last, and not on the last."""
    if name in ACTED_FIELDS or name == OBSERVATION or episode.length < 2:
        return name in ACTED_FIELDS
    before, last = (_has(episode[at : at + 1], name) for at in (episode.length - 2, episode.length - 1))
    return before and not last


def _has(step: Episode, name: str) -> bool:
    try:
        return bool(step.mask(name)[0])
    except KeyError:
        return False


def _tag_columns(planned: Planned, columns: Sequence[str]) -> dict[str, np.ndarray]:
    """`[rows]` bool by name of the field."""
    found = {}
    for label in columns:
        found[f"{TAG}{label}"] = has = np.zeros(planned.rows, np.bool_)
        for first, end in planned.tags.get(label, ()):
            has[first:end] = True
    return found


class _Rows(Sequence[Row]):
    """Some fields of the steps of an episode, where they are defined, and columns beside them."""

    def __init__(
        self, episode: Episode, names: Sequence[str], length: int, declared: specs.Dict, more: Mapping[str, np.ndarray]
    ) -> None:
        self._episode, self._names, self._length, self._more = episode, names, length, more
        # An observation is there, but for a final one that is missing, which the length says.
        self._declared = [name for name in names if name in declared.fields]
        self._masked = [name for name in self._declared if name != OBSERVATION]

    def __len__(self) -> int:
        return self._length

    def __iter__(self) -> Iterator[Row]:
        for first in range(0, self._length, _TOGETHER):
            yield from self._between(first, min(first + _TOGETHER, self._length))

    @overload
    def __getitem__(self, index: int) -> Row: ...

    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...

    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        numbers = range(self._length)[index]
        if isinstance(numbers, int):
            return self._between(numbers, numbers + 1)[0]
        return [self._between(number, number + 1)[0] for number in numbers]

    def _between(self, first: int, end: int) -> list[Row]:
        part = self._episode[first:end]
        masks = {name: part.mask(name) for name in self._masked}
        rows: list[Row] = []
        for at, step in enumerate(part.steps):
            row = {
                name: step[name] if name in self._declared else without_personal(step[name])
                for name in self._names
                if name in step and (name not in masks or masks[name][at])
            }
            rows.append({**row, **{name: column[first + at] for name, column in self._more.items()}})
        return rows
