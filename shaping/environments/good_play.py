"""The feedback of an ideal trainer: for simulated trainers, tests and the figures in the documentation."""

from typing import Any, Final

import numpy as np

from rlds_kit.shaping.environments.placement_tetris import HEIGHT, placements

_WEIGHTS: Final = (-0.51, 0.76, -0.36, -0.18)
"""Weights of the sum of heights, completed lines, holes and differences of neighbours: set by hand for good play."""
_JUDGEMENTS: Final = ((0.0, 2.0), (0.15, 1.0), (0.4, 0.0), (0.7, -1.0))
"""Shares of placements that are better, up to which a placement gets a judgement; beyond the last one it gets -2."""


def mountain_car_judge(observation: Any, action: Any) -> float:
    """1 for a push in the direction of the car's velocity, which reaches the goal in about 121 steps; else -1.

    >>> mountain_car_judge([-0.5, -0.01], 0), mountain_car_judge([-0.5, -0.01], 1)
    (1.0, -1.0)
    """
    return 1.0 if action == (2 if observation[1] >= 0 else 0) else -1.0


def tetris_judge(observation: Any, action: Any) -> float:
    """From 2 for one of the best placements of a piece of `PlacementTetris` to -2 for one of the worst.

    >>> empty = {"board": np.zeros((20, 10)), "piece": 0}
    >>> tetris_judge(empty, 0), tetris_judge(empty, 14)
    (2.0, -1.0)
    """
    possible = placements(observation["board"], int(observation["piece"]))
    heights = np.where(possible.boards.any(axis=1), HEIGHT - possible.boards.argmax(axis=1), 0)
    holes = heights.sum(axis=1) - possible.boards.sum(axis=(1, 2))
    steps = np.abs(np.diff(heights, axis=1)).sum(axis=1)
    terms = np.stack([heights.sum(axis=1), possible.lines, holes, steps], axis=1)
    scores = (terms * _WEIGHTS).sum(axis=1)
    better = float((scores > scores[possible.actions.index(int(action))] + 1e-9).mean())
    return next((value for share, value in _JUDGEMENTS if better <= share), -2.0)
