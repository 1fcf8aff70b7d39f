"""Features of placements: how a piece changes the board."""

import functools
from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.shaping.environments.placement_tetris import HEIGHT, WIDTH, PlacementTetris, placements

N_FEATURES: Final = 2 * (2 * WIDTH + 3)
"""10 heights, 9 differences of neighbours, the greatest height, holes, sum and greatest of wells; and their squares."""
_SAMPLES: Final = 500
"""Random placements; features are scaled to deviation 1 on these."""


def board_features(boards: np.ndarray) -> np.ndarray:
    """`[n, 46]` float64, of `[n, 20, 10]` boards.

    >>> board = np.zeros((1, 20, 10), bool)
    >>> board[0, 18, 0] = True
    >>> board_features(board)[0, [0, 10, 19, 20]].tolist()  # height, step to the neighbour, greatest height, a hole
    [2.0, 2.0, 2.0, 1.0]
    """
    filled = np.asarray(boards) != 0
    heights = np.where(filled.any(axis=1), HEIGHT - filled.argmax(axis=1), 0)
    steps = np.abs(np.diff(heights, axis=1))
    holes = heights.sum(axis=1) - filled.sum(axis=(1, 2))
    walled = np.pad(heights, ((0, 0), (1, 1)), constant_values=HEIGHT)
    wells = np.maximum(np.minimum(walled[:, :-2], walled[:, 2:]) - heights, 0)
    whole = np.stack([heights.max(axis=1), holes, wells.sum(axis=1), wells.max(axis=1)], axis=1)
    found = np.concatenate([heights, steps, whole], axis=1).astype(np.float64)
    return np.concatenate([found, found**2], axis=1)


class TetrisFeatures:
    """Features of the placements of `PlacementTetris`: differences of `board_features`, normalised, and an intercept.

    Args:
      intercept: a constant feature; 0: none. Without it an agent learns badly: most labels of good play are positive,
        and a model without a constant attributes that to the changes of the board.
      seed: of the random placements that determine the scale of features.
    """

    def __init__(self, *, intercept: float = 3.0, seed: int = 0) -> None:
        self._intercept = intercept
        self._scale = _deviations(seed)
        self.size = N_FEATURES + 1

    def choices(self, observation: Any) -> tuple[Sequence[int], np.ndarray]:
        """The placements, and their features `[n, 47]` float64."""
        possible = placements(observation["board"], int(observation["piece"]))
        changes = board_features(possible.boards) - board_features(observation["board"][None])
        constant = np.full((len(changes), 1), self._intercept)
        return possible.actions, np.concatenate([changes / self._scale, constant], axis=1)

    def of(self, observation: Any, action: Any) -> np.ndarray:
        """The features of a placement; it must be one of the choices.

        Raises:
          ValueError: it is not.
        """
        actions, features = self.choices(observation)
        row: np.ndarray = features[list(actions).index(int(action))]
        return row


@functools.cache
def _deviations(seed: int) -> np.ndarray:
    """`[46]` float64, of the changes by random placements."""
    env, random = PlacementTetris(), np.random.default_rng(seed)
    observation, _ = env.reset(seed=seed)
    samples: list[np.ndarray] = []
    while len(samples) < _SAMPLES:
        action = int(random.choice(placements(observation["board"], int(observation["piece"])).actions))
        after, _, is_over, _, _ = env.step(action)
        samples.append(board_features(after["board"][None])[0] - board_features(observation["board"][None])[0])
        observation = env.reset()[0] if is_over else after
    deviations = np.array(samples).std(axis=0)
    found: np.ndarray = np.where(deviations > 0, deviations, 1.0)
    found.flags.writeable = False  # it is shared
    return found
