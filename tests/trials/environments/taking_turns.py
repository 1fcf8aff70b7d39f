"""A PettingZoo environment of turns ("AEC") that changes after the last turn of a round, and one that does not."""

from typing import Any

from gymnasium import spaces
from pettingzoo import AECEnv


class Rounds(AECEnv[str, int, int]):
    """Two add numbers to a sum, three times; both are paid the sum after each round."""

    metadata = {"name": "rounds", "is_parallelizable": True}  # noqa: RUF012  PettingZoo's

    def __init__(self, render_mode: str | None = None) -> None:
        self.render_mode = render_mode
        self.possible_agents = ["left", "right"]
        self.agents: list[str] = []

    def observation_space(self, agent: str) -> Any:
        """The sum."""
        return spaces.Discrete(100)

    def action_space(self, agent: str) -> Any:
        """What is added."""
        return spaces.Discrete(5)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        """Begins with nothing."""
        self.agents = [*self.possible_agents]
        self.agent_selection, self._round, self._sum, self._coming = "left", 0, 0, 0
        self.rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards: dict[str, float] = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}

    def observe(self, agent: str) -> int:
        """The sum of the rounds that are over."""
        return self._sum

    def step(self, action: int | None) -> None:
        """One turn."""
        agent = self.agent_selection
        if self.terminations[agent]:
            self._was_dead_step(None)  # type: ignore[arg-type]  # it takes no other action
            return
        self._cumulative_rewards[agent] = 0.0
        self._clear_rewards()
        self._coming += action or 0
        if agent == "right":
            self._sum, self._coming, self._round = self._sum + self._coming, 0, self._round + 1
            self.rewards = dict.fromkeys(self.agents, float(self._sum))
            self.terminations = dict.fromkeys(self.agents, self._round == 3)
        self.agent_selection = "left" if agent == "right" else "right"
        self._accumulate_rewards()

    def render(self) -> Any:
        """Nothing."""


class Turns(Rounds):
    """The same, but it does not say that it may be converted."""

    metadata = {"name": "turns", "is_parallelizable": False}  # noqa: RUF012  PettingZoo's
