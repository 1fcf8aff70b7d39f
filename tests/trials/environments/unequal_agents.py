"""A PettingZoo environment whose agents are of two classes, with different spaces."""

from typing import Any

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv


class UnequalAgents(ParallelEnv[str, Any, Any]):
    """Two cranes that move, and a clerk who counts; three steps."""

    metadata = {"name": "unequal_agents"}  # noqa: RUF012  PettingZoo's

    def __init__(self) -> None:
        self.possible_agents = ["crane_0", "crane_1", "clerk"]
        self.agents: list[str] = []
        self._step = 0

    def observation_space(self, agent: str) -> Any:
        """Places for cranes, a number for the clerk."""
        return spaces.Discrete(4) if agent == "clerk" else spaces.Box(-9, 9, (2,), np.float32)

    def action_space(self, agent: str) -> Any:
        """Moves for cranes, a choice for the clerk."""
        return spaces.Discrete(3) if agent == "clerk" else spaces.Box(-1, 1, (2,), np.float32)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:
        """Begins."""
        self.agents, self._step = list(self.possible_agents), 0
        return self._observations(), {agent: {} for agent in self.agents}

    def step(self, actions: dict[str, Any]) -> tuple[Any, Any, Any, Any, Any]:
        """Counts."""
        self._step += 1
        here, is_over = list(self.agents), self._step == 3
        observations = self._observations()
        infos: dict[str, Any] = {agent: {} for agent in here}
        self.agents = [] if is_over else here
        rewards = {agent: float(self._step) for agent in here}
        return observations, rewards, dict.fromkeys(here, is_over), dict.fromkeys(here, False), infos

    def _observations(self) -> dict[str, Any]:
        return {agent: self._step if agent == "clerk" else np.zeros(2, np.float32) for agent in self.agents}
