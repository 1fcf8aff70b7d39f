"""A PettingZoo environment for tests: two agents, who win by pressing the same, and leave after six steps."""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class MatchingPennies(ParallelEnv[str, np.ndarray, int]):
    """Observations are what both did last; the second agent leaves one step early."""

    metadata = {"name": "matching_pennies", "render_fps": 10}  # noqa: RUF012  PettingZoo's

    def __init__(self, length: int = 6) -> None:
        self.possible_agents = ["odd", "even"]
        self.agents: list[str] = []
        self._length, self._step, self._last = length, 0, np.zeros(2, np.int64)

    def observation_space(self, agent: str) -> spaces.Box:
        """What both did."""
        return spaces.Box(0, 1, (2,), np.int64)

    def action_space(self, agent: str) -> Any:
        """Left or right."""
        return spaces.Discrete(2)

    def get_keys_to_action(self) -> dict[tuple[str, ...], int]:
        """Arrows, as environments of Gymnasium say it."""
        return {("left",): 0, ("right",): 1}

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begins with a side that the seed says."""
        self.agents, self._step = list(self.possible_agents), 0
        self._last = np.random.default_rng(seed).integers(0, 2, 2)
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        """Both press."""
        self._step += 1
        self._last = np.array([actions.get(agent, 0) for agent in self.possible_agents], np.int64)
        won = 1.0 if self._last[0] == self._last[1] else -1.0
        rewards = {agent: won if agent == "even" else -won for agent in self.agents}
        over = {"odd": self._step >= self._length, "even": self._step >= self._length - 1}
        terminated = {agent: over[agent] for agent in self.agents}
        observations = self._observations()
        infos: dict[str, Any] = {agent: {} for agent in self.agents}
        truncated = dict.fromkeys(self.agents, False)
        self.agents = [agent for agent in self.agents if not over[agent]]
        return observations, rewards, terminated, truncated, infos

    def _observations(self) -> dict[str, np.ndarray]:
        return {agent: self._last.copy() for agent in self.agents}

    def render(self) -> np.ndarray:
        """Two squares."""
        return (self._last.reshape(1, 2, 1) * np.full((8, 1, 3), 200)).astype(np.uint8).repeat(8, 1)
