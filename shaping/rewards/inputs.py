"""The input of a reward model: values of a step as one vector of numbers."""

import math
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.shaping.preferences.segment import Segment


class Stacked(Protocol):
    """An episode, or consecutive steps of one: `rlds_kit.Episode`."""

    @property
    def id(self) -> uuid.UUID:
        """The id of the episode."""

    def __getitem__(self, key: Any) -> Any:
        """A field, stacked; or a slice."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """The input of a reward model from a step.

    Attributes:
      fields: names, or paths into nests; their numbers are concatenated in this order.
      discrete: fields that are numbers of choices, with the number of choices: each is encoded one-hot.

    Raises:
      ValueError: there is no field, or `discrete` has another one.

    >>> Inputs(("observation", "action"), {"action": 2}).vectors({"observation": [[0.5], [0.7]], "action": [0, 1]})
    array([[0.5, 1. , 0. ],
           [0.7, 0. , 1. ]], dtype=float32)
    """

    fields: tuple[str, ...] = ("observation",)
    discrete: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.fields or not set(self.discrete) <= set(self.fields):
            raise ValueError(f"expected fields, and which are discrete, got {self.fields} and {dict(self.discrete)}")

    def vectors(self, values: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """Returns `[n, width]` float32 of the values of n steps.

        Args:
          values: by field, `[n, ...]` numbers; others are ignored.

        Raises:
          SpecError: a field is missing, not finite numbers, or not one of its choices.
        """
        return np.concatenate([self._columns(name, values) for name in self.fields], axis=1)

    def _columns(self, name: str, values: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        try:
            array = np.asarray(values[name])
        except KeyError as error:
            raise SpecError(f"{name}: the reward model reads this field, got {sorted(values)}") from error
        if array.dtype.kind not in "biuf" or array.ndim == 0:
            raise SpecError(f"{name}: expected numbers, one or more for each step, got {array.dtype} {array.shape}")
        if name not in self.discrete:
            return _finite(name, array.reshape(len(array), math.prod(array.shape[1:])))
        if array.ndim != 1 or not np.isin(array, np.arange(self.discrete[name])).all():
            raise SpecError(f"{name}: expected one of {self.discrete[name]} choices for each step, got {array}")
        return np.eye(self.discrete[name], dtype=np.float32)[array.astype(np.intp)]


def _finite(name: str, array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    with np.errstate(over="ignore"):
        numbers = array.astype(np.float32)
    if not np.isfinite(numbers).all():
        step = int(np.flatnonzero(~np.isfinite(numbers).all(axis=1))[0])
        raise SpecError(f"{name}: expected finite numbers in the range of float32, got {array[step]} in step {step}")
    return numbers


def segment_vectors(
    episodes: Iterable[Stacked], segments: Sequence[Segment], inputs: Inputs
) -> list[np.ndarray[Any, Any]]:
    """Reads `[n, width]` for each segment. Every episode is read once.

    Args:
      episodes: with the segments, for example `dataset.episodes`; others are not read.
      segments: with at least one step.
      inputs: the fields to read.

    Raises:
      KeyError: an episode is missing.
      IndexError: an episode has fewer steps.
      SpecError: a field is missing or has other values.
    """
    wanted, found = {each.episode for each in segments}, dict[uuid.UUID, np.ndarray[Any, Any]]()
    for episode in episodes:
        if episode.id in wanted:
            found[episode.id] = inputs.vectors({name: episode[name] for name in inputs.fields})
    return [_part(found, each) for each in segments]


def _part(found: Mapping[uuid.UUID, np.ndarray[Any, Any]], segment: Segment) -> np.ndarray[Any, Any]:
    if segment.episode not in found:
        raise KeyError(f"there is no episode {segment.episode}; expected the dataset that the segments are from")
    rows, steps = found[segment.episode], segment.steps
    if steps is None:
        return rows
    if steps.stop > len(rows):
        raise IndexError(f"episode {segment.episode} has {len(rows)} steps, expected {steps}")
    return rows[steps.start : steps.stop]
