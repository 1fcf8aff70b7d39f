"""Statistics of episodes, computed from a stream of their steps in one pass and bounded memory."""

import itertools
import json
import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from rlds_kit.base.field_statistics import FieldStatistics
from rlds_kit.base.quantile_sketch import Integers
from rlds_kit.base.step import ACTED_FIELDS, OBSERVATION, REWARD

QUANTILE_ELEMENTS: Final = 256
"""Quantiles are computed for fields with at most this many elements. Each element may take 64 KiB, so images have
none."""
_VERSION: Final = 1

_T = TypeVar("_T")


class Rows(NamedTuple):
    """Consecutive steps of consecutive episodes; an episode may begin and end in other rows.

    Attributes:
      episode: `[N]` int64, the number of the episode that a row is part of; one episode's rows follow each other.
      fields: by path, `[N, ...]` each.
      step_index: `[N]` integers, the step's own number where a scheduler may have left steps out; else None.
      observation_valid: `[N]` bool, where observations may be missing; else None.
    """

    episode: Integers
    fields: Mapping[str, npt.NDArray[Any]]
    step_index: Integers | None = None
    observation_valid: npt.NDArray[np.bool_] | None = None


@dataclass(frozen=True, slots=True, eq=False)
class EpisodeStatistics:
    """Statistics of the values in a set of episodes.

    Attributes:
      fields: by path, such as "observation/position".
      length: of the number of steps of an episode, the last one included.
      returns: of the sum of an episode's defined rewards, by path of the reward: one for each agent if it is a nest.
        Empty if there are no rewards.

    >>> rows = Rows(np.zeros(3, int), {"reward": np.array([1, 2, 0])})
    >>> statistics = gather_statistics([rows])
    >>> statistics["reward"].mean.item(), statistics.returns["reward"].mean.item(), statistics.steps
    (1.5, 3.0, 3)
    """

    fields: Mapping[str, FieldStatistics]
    length: FieldStatistics
    returns: Mapping[str, FieldStatistics]

    def __getitem__(self, path: str) -> FieldStatistics:
        """The statistics of a field.

        Raises:
          KeyError: there are none.
        """
        if path not in self.fields:
            raise KeyError(
                f"there are no statistics of {path!r}, only of {', '.join(sorted(self.fields)) or 'nothing'}"
            )
        return self.fields[path]

    @property
    def episodes(self) -> int:
        """The number of episodes."""
        return int(self.length.count)

    @property
    def steps(self) -> int:
        """The number of steps, the last ones included."""
        return round(float(self.length.mean) * self.episodes) if self.episodes else 0

    def merge(self, other: Self) -> Self:
        """The statistics of the episodes of both.

        Raises:
          ValueError: they are of different fields, or of values of different shapes.
        """
        return type(self)(
            _merge("fields", self.fields, other.fields),
            self.length.merge(other.length),
            _merge("returns", self.returns, other.returns),
        )

    def to_json(self) -> str:
        """The statistics as one line of JSON, to be stored beside a dataset."""
        content = {
            "version": _VERSION,
            "fields": _each(FieldStatistics.to_json, self.fields),
            "length": self.length.to_json(),
            "returns": _each(FieldStatistics.to_json, self.returns),
        }
        return json.dumps(content, allow_nan=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Restores the statistics from the result of `to_json`, bit for bit.

        Raises:
          ValueError: the text is not what `to_json` writes, or was written by a newer version.
        """
        content = json.loads(text)
        version = content.get("version") if isinstance(content, dict) else None
        if version != _VERSION:
            raise ValueError(
                f"expected statistics of version {_VERSION}, got version {version}; make them again from the episodes"
            )
        return cls(
            _each(FieldStatistics.from_json, content["fields"]),
            FieldStatistics.from_json(content["length"]),
            _each(FieldStatistics.from_json, content["returns"]),
        )


def gather_statistics(parts: Iterable[Rows], *, quantile_elements: int = QUANTILE_ELEMENTS) -> EpisodeStatistics:
    """Computes the statistics of episodes from their steps.

    Action, reward and discount are undefined on the last step of an episode and where the next step was left out, and
    an observation where `observation_valid` is False. Such values are not counted.

    Args:
      parts: the steps of all episodes, in order, in parts of any size.
      quantile_elements: quantiles are computed for fields with at most this many elements.

    Raises:
      ValueError: there are no steps.
      TypeError: a field does not hold real numbers.
    """
    gathered = _Gathered(quantile_elements)
    with_steps = (rows for rows in parts if len(rows.episode))
    for rows, following in itertools.pairwise(itertools.chain(with_steps, [None])):
        if rows is not None:  # only the last one is
            gathered.add(rows, _is_acted(rows, following))
    return gathered.result()


@dataclass(slots=True)
class _Gathered:
    quantile_elements: int
    fields: dict[str, FieldStatistics] = field(default_factory=dict)
    episodes: list[Integers] = field(default_factory=list)
    lengths: list[Integers] = field(default_factory=list)
    returns: dict[str, list[npt.NDArray[np.float64]]] = field(default_factory=dict)

    def add(self, rows: Rows, is_acted: npt.NDArray[np.bool_]) -> None:
        """Adds rows, in which an action may lead to the next row."""
        starts = _starts(rows.episode)
        self.episodes.append(rows.episode[starts])
        self.lengths.append(np.diff(starts, append=len(rows.episode)))
        for path, values in rows.fields.items():
            of, _, _ = path.partition("/")
            is_defined = is_acted if of in ACTED_FIELDS else rows.observation_valid if of == OBSERVATION else None
            self._add_field(path, values if is_defined is None else values[is_defined])
            if of == REWARD:
                rewards = values.astype(np.float64)
                rewards[~is_acted] = 0
                self.returns.setdefault(path, []).append(np.add.reduceat(rewards, starts))

    def result(self) -> EpisodeStatistics:
        """The statistics of all added rows; an episode that came in several parts is counted once."""
        if not self.episodes:
            raise ValueError("expected episodes with steps, got none: there is nothing to make statistics of")
        starts = _starts(np.concatenate(self.episodes))
        total = {path: np.add.reduceat(np.concatenate(sums), starts) for path, sums in self.returns.items()}
        return EpisodeStatistics(
            self.fields,
            FieldStatistics.of(np.add.reduceat(np.concatenate(self.lengths), starts)),
            {path: self._statistics(path, values) for path, values in total.items()},
        )

    def _add_field(self, path: str, values: npt.NDArray[Any]) -> None:
        new = self._statistics(path, values)
        self.fields[path] = self.fields[path].merge(new) if path in self.fields else new

    def _statistics(self, path: str, values: npt.NDArray[Any]) -> FieldStatistics:
        try:
            return FieldStatistics.of(values, quantiles=math.prod(values.shape[1:]) <= self.quantile_elements)
        except TypeError as error:
            raise TypeError(f"{path}: {error}") from error


def _is_acted(rows: Rows, following: Rows | None) -> npt.NDArray[np.bool_]:
    """Whether the action of each step led to the step after it, `[N]`; for the last row, `following` decides."""
    last = len(rows.episode) - 1
    is_acted = _joins(rows, slice(0, last), rows, slice(1, None))
    at_end = _joins(rows, slice(last, None), following, slice(0, 1)) if following is not None else np.zeros(1, bool)
    return np.concatenate([is_acted, at_end])


def _joins(rows: Rows, at: slice, following: Rows, then: slice) -> npt.NDArray[np.bool_]:
    joins: npt.NDArray[np.bool_] = rows.episode[at] == following.episode[then]
    if rows.step_index is not None and following.step_index is not None:
        joins &= following.step_index[then] - rows.step_index[at] == 1
    return joins


def _starts(episode: Integers) -> Integers:
    """Finds where episodes begin in consecutive rows or sums."""
    return np.flatnonzero(np.concatenate([[True], episode[1:] != episode[:-1]]))


def _each(function: Callable[[Any], _T], values: Mapping[str, Any]) -> dict[str, _T]:
    return {path: function(value) for path, value in values.items()}


def _merge(what: str, a: Mapping[str, FieldStatistics], b: Mapping[str, FieldStatistics]) -> dict[str, FieldStatistics]:
    if a.keys() != b.keys():
        only = sorted(a.keys() ^ b.keys())
        raise ValueError(f"cannot merge statistics of different {what}: only one of the two has {', '.join(only)}")
    merged = {}
    for path, statistics in a.items():
        try:
            merged[path] = statistics.merge(b[path])
        except ValueError as error:
            raise ValueError(f"{path}: {error}") from error
    return merged
