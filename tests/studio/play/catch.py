"""An environment of dm_env for tests: a ball falls, and somebody moves below it."""

from typing import Any

import dm_env
import numpy as np
from dm_env import specs

ROWS = 5


class Catch(dm_env.Environment):
    """Five rows; the column of the ball is drawn, the reward is 1 for who stands below it at the end."""

    def __init__(self, seed: int | None) -> None:
        self._random = np.random.default_rng(seed)
        self._row, self._ball, self._place = 0, 0, 1

    def reset(self) -> dm_env.TimeStep:
        """Another ball."""
        self._row, self._ball, self._place = 0, int(self._random.integers(3)), 1
        return dm_env.restart(self._board())

    def step(self, action: Any) -> dm_env.TimeStep:
        """The ball falls a row."""
        self._row, self._place = self._row + 1, int(np.clip(self._place + int(action) - 1, 0, 2))
        if self._row == ROWS - 1:
            return dm_env.termination(np.float32(self._ball == self._place), self._board())
        return dm_env.transition(np.float32(0), self._board(), np.float32(1))

    def _board(self) -> Any:
        board = np.zeros((ROWS, 3), np.float32)
        board[self._row, self._ball] = board[ROWS - 1, self._place] = 1
        return {"board": board, "eye": np.full((16, 16, 3), 10 * self._row + self._ball, np.uint8)}

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Arrows, as environments of Gymnasium say it."""
        return {("left",): 0, ("down",): 1, ("right",): 2}

    def observation_spec(self) -> Any:
        """A board, and an image."""
        image = specs.BoundedArray((16, 16, 3), np.uint8, 0, 255)
        return {"board": specs.BoundedArray((ROWS, 3), np.float32, 0, 1), "eye": image}

    def action_spec(self) -> Any:
        """Left, stay, right."""
        return specs.DiscreteArray(3, np.int32)

    def reward_spec(self) -> Any:
        """As wide as what comes."""
        return specs.Array((), np.float32)

    def discount_spec(self) -> Any:
        """Likewise."""
        return specs.BoundedArray((), np.float32, 0, 1)


def seeded(seed: int) -> dm_env.Environment:
    """One whose balls a seed decides."""
    return Catch(seed)


def unseeded() -> dm_env.Environment:
    """One whose balls nobody knows beforehand."""
    return Catch(None)
