"""Hand-written rules for a few games. The memory addresses of objects were found by observing the games."""

from collections.abc import Callable, Mapping
from typing import Final

import numpy as np

from rlds_kit.tfds_builders.atari_agents.policy import Act, Policy, Ram


def _follow_ball_in_breakout(ram: Ram) -> int:
    """Moves the paddle below the ball, and fires if there is no ball."""
    ball_x, ball_y, paddle_x = int(ram[99]), int(ram[101]), int(ram[72])
    noop, fire, right, left = range(4)
    if ball_y == 0:
        return fire
    return noop if abs(ball_x - paddle_x - 8) < 4 else right if ball_x > paddle_x + 8 else left


def _follow_ball_in_pong(ram: Ram) -> int:
    """Moves the racket to the height of the ball."""
    ball_y, racket_y = int(ram[54]), int(ram[51])
    noop, _, up, down = range(4)
    return noop if not ball_y or abs(ball_y - racket_y) < 4 else down if ball_y > racket_y else up


def _without_chance(rule: Callable[[Ram], int]) -> Policy:
    def policy(actions: int, rng: np.random.Generator) -> Act:
        del actions, rng
        return rule

    return policy


SCRIPTED: Final[Mapping[str, Policy]] = {
    "breakout": _without_chance(_follow_ball_in_breakout),
    "pong": _without_chance(_follow_ball_in_pong),
}
"""Policies by game."""
