"""Features of observations and actions for linear models."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np


class ActionFeatures(Protocol):
    """Features of the possible actions."""

    @property
    def size(self) -> int:
        """The number of features."""

    def choices(self, observation: Any) -> tuple[Sequence[Any], np.ndarray]:
        """The actions to choose from, and their features, `[n_actions, size]` float64."""

    def of(self, observation: Any, action: Any) -> np.ndarray:
        """The features of one action, `[size]` float64: its row of `choices`, bit for bit."""


@dataclass(frozen=True, slots=True)
class Normaliser:
    """Shifts and scales features, so that all have similar ranges.

    Attributes:
      centre: `[n]` float64, which becomes 0.
      scale: `[n]` float64, which becomes 1; positive.
    """

    centre: np.ndarray
    scale: np.ndarray

    @classmethod
    def of_range(cls, low: Sequence[float], high: Sequence[float]) -> Self:
        """From bounds, which become -1 and 1.

        Raises:
          ValueError: a bound is not finite, or not below the other.

        >>> Normaliser.of_range([-1.2, -0.07], [0.6, 0.07])(np.array([0.6, 0.0])).tolist()
        [1.0, 0.0]
        """
        bounds = np.array([low, high], np.float64)
        if not np.isfinite(bounds).all() or not (bounds[0] < bounds[1]).all():
            raise ValueError(f"expected finite bounds, each low below its high, got {low} and {high}")
        return cls((bounds[0] + bounds[1]) / 2, (bounds[1] - bounds[0]) / 2)

    @classmethod
    def of_samples(cls, samples: np.ndarray) -> Self:
        """From samples, `[m, n]`: to mean 0 and deviation 1; features that never change become 0.

        >>> Normaliser.of_samples(np.array([[0.0, 5.0], [2.0, 5.0]]))(np.array([2.0, 5.0])).tolist()
        [1.0, 0.0]
        """
        deviation = samples.std(axis=0)
        return cls(samples.mean(axis=0), np.where(deviation > 0, deviation, 1.0))

    def __call__(self, features: np.ndarray) -> np.ndarray:
        """Normalised features, `[..., n]` float64."""
        normalised: np.ndarray = (features - self.centre) / self.scale
        return normalised


class RadialBasis:
    """Gaussian bumps on a regular grid over a box: they generalise broadly.

    Args:
      low: `[n]` corner of the box.
      high: `[n]` opposite corner.
      per_dimension: bumps along each side; their width is the distance between them.

    Raises:
      ValueError: as for `Normaliser.of_range`, or there are fewer than 2 bumps along a side.

    >>> RadialBasis([0, 0], [1, 1], per_dimension=3)([0.5, 0.5]).argmax()
    np.int64(4)
    """

    def __init__(self, low: Sequence[float], high: Sequence[float], *, per_dimension: int = 12) -> None:
        if per_dimension < 2:
            raise ValueError(
                f"per_dimension: expected at least 2 bumps, whose distance is their width, got {per_dimension}"
            )
        self._normaliser = Normaliser.of_range(low, high)
        self._shape = np.shape(low)
        axis = np.linspace(-1, 1, per_dimension)
        grid = np.meshgrid(*[axis] * len(low), indexing="ij")
        self._centres = np.stack([each.ravel() for each in grid], axis=1)
        self._precision = 0.5 / (axis[1] - axis[0]) ** 2
        self.size = len(self._centres)

    def __call__(self, observation: Any) -> np.ndarray:
        """`[per_dimension ** n]` float64, of `[n]` numbers.

        Raises:
          ValueError: the observation has another shape, or a number that is not finite.
        """
        numbers = np.asarray(observation, np.float64)
        if numbers.shape != self._shape or not np.isfinite(numbers).all():
            raise ValueError(f"expected an observation of {self._shape[0]} finite numbers, got {observation!r}")
        place = self._normaliser(numbers)
        bumps: np.ndarray = np.exp(-self._precision * ((self._centres - place) ** 2).sum(axis=1))
        return bumps


class PerAction:
    """Separate features of the state for each action, with an intercept for each.

    Args:
      state: gives `[n]` float64 for an observation.
      size: n.
      n_actions: number of actions, which are 0 to n_actions - 1.
      intercept: a constant feature; 0: none. A model without one attributes the mean of the labels to properties of
        states.

    >>> features = PerAction(lambda observation: np.array([observation, 1.0]), 2, n_actions=2, intercept=1.0)
    >>> features.of(5.0, 1).tolist()
    [0.0, 0.0, 0.0, 5.0, 1.0, 1.0]
    """

    def __init__(
        self, state: Callable[[Any], np.ndarray], size: int, *, n_actions: int, intercept: float = 1.0
    ) -> None:
        self._state, self._n, self._actions, self._intercept = state, size, range(n_actions), intercept
        self.size = n_actions * (size + 1)

    def choices(self, observation: Any) -> tuple[Sequence[int], np.ndarray]:
        """See `ActionFeatures`."""
        block = np.append(self._state(observation), self._intercept)
        rows = np.zeros((len(self._actions), len(self._actions), self._n + 1))
        rows[self._actions, self._actions] = block
        return self._actions, rows.reshape(len(self._actions), -1)

    def of(self, observation: Any, action: Any) -> np.ndarray:
        """See `ActionFeatures`.

        Raises:
          ValueError: there is no such action.
        """
        if action not in self._actions:
            raise ValueError(f"expected an action from 0 to {len(self._actions) - 1}, got {action!r}")
        row: np.ndarray = self.choices(observation)[1][int(action)]
        return row
