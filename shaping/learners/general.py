"""An agent for any environment of Gymnasium with numbered actions. Presets for single environments learn faster."""

from collections.abc import Callable
from typing import Any, Final

import gymnasium
import numpy as np
from gymnasium import spaces

from rlds_kit.shaping.credit.delays import UniformWindow
from rlds_kit.shaping.learners.features import PerAction, RadialBasis
from rlds_kit.shaping.learners.linear_model import NormalisedLinearModel
from rlds_kit.shaping.learners.tamer import Tamer

_BUMPS: Final = {1: 12, 2: 12, 3: 6, 4: 4}
"""Radial bases along each dimension, by the number of dimensions."""
_LARGE: Final = 1e6
"""A bound as large as this counts as none."""
_BLOCKS: Final = 8
"""Rows and columns of blocks whose mean brightness stands for a picture."""


def general_tamer(env: gymnasium.Env[Any, Any]) -> Tamer:
    """An agent whose features are determined by the space of observations, for steps of some tenths of a second.

    Up to 4 numbers: a grid of radial bases, where numbers without bounds are squashed to (-1, 1). More: the numbers and
    their squares. Pictures: the brightness of 8 times 8 blocks, likewise. Numbered states: a feature for each.

    Args:
      env: only its spaces are used; there is no reference to it afterwards.

    Raises:
      ValueError: actions are not numbered, or observations are neither numbers, nor a picture, nor a number of a state.

    >>> general_tamer(gymnasium.make("CartPole-v1")).features.size
    514
    """
    if not isinstance(env.action_space, spaces.Discrete) or env.action_space.start != 0:
        raise ValueError(
            f"expected numbered actions from 0 on, Discrete(n), got {env.action_space}; make a Training with a learner "
            "of your own"
        )
    state, size = _state(env.observation_space)
    features = PerAction(state, size, n_actions=int(env.action_space.n))
    return Tamer(features, NormalisedLinearModel(features.size, step_size=0.2), UniformWindow(0.2, 0.6))


def _state(space: spaces.Space[Any]) -> tuple[Callable[[Any], np.ndarray], int]:
    """A function that returns the features of an observation, and their number."""
    if isinstance(space, spaces.Discrete):
        first, count = int(space.start), int(space.n)
        return lambda observation: np.eye(count)[int(observation) - first], count
    if not isinstance(space, spaces.Box):
        raise ValueError(  # noqa: TRY004  the type of a space is its value
            f"expected observations of numbers, Box or Discrete, got {space}; make a Training with its own learner"
        )
    if space.dtype == np.uint8 and len(space.shape) >= 2:
        return _of_picture, 2 * _BLOCKS * _BLOCKS
    squash, n_numbers = _Squash(space), int(np.prod(space.shape))
    if n_numbers in _BUMPS:
        basis = RadialBasis([-1.0] * n_numbers, [1.0] * n_numbers, per_dimension=_BUMPS[n_numbers])
        return lambda observation: basis(squash(observation)), basis.size
    return lambda observation: _with_squares(squash(observation)), 2 * n_numbers


class _Squash:
    """Numbers of a box as a vector in [-1, 1]."""

    def __init__(self, space: spaces.Box) -> None:
        low, high = (np.asarray(each, np.float64).ravel() for each in (space.low, space.high))
        self._is_bounded = (np.abs(low) < _LARGE) & (np.abs(high) < _LARGE) & (high > low)
        low, high = (np.where(self._is_bounded, *each) for each in ((low, -1.0), (high, 1.0)))
        self._centre, self._scale = (low + high) / 2, (high - low) / 2

    def __call__(self, observation: Any) -> np.ndarray:
        found = (np.asarray(observation, np.float64).ravel() - self._centre) / self._scale
        squashed: np.ndarray = np.where(self._is_bounded, found, found / (1 + np.abs(found)))
        return squashed


def _of_picture(observation: Any) -> np.ndarray:
    grey = np.asarray(observation, np.float64).reshape(*np.shape(observation)[:2], -1).mean(axis=2) / 255
    rows, columns = (np.linspace(0, size, _BLOCKS + 1).astype(int)[:-1] for size in grey.shape)
    sums = np.add.reduceat(np.add.reduceat(grey, rows, axis=0), columns, axis=1)
    counts = np.add.reduceat(np.add.reduceat(np.ones_like(grey), rows, axis=0), columns, axis=1)
    return _with_squares((sums / counts).ravel())


def _with_squares(numbers: np.ndarray) -> np.ndarray:
    return np.concatenate([numbers, numbers**2])
