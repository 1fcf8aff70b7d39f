"""An environment of four agents that costs next to nothing, and actors: good ones, and some that fail."""

import asyncio
import time
from typing import Any, Final

import numpy as np
from gymnasium import spaces
from pettingzoo import ParallelEnv

from rlds_kit.trials import ActorInfo, Text

SEATS: Final = ("north", "east", "south", "west")
ENVIRONMENT: Final = "trials_side.players:Quad"
FRAME: Final = 1 / 60


class Quad(ParallelEnv[str, np.ndarray, int]):
    """Four agents see eight numbers each, and do one of five actions. It never ends by itself."""

    metadata = {"name": "quad", "render_fps": 60}  # noqa: RUF012  PettingZoo's

    def __init__(self) -> None:
        self.possible_agents = list(SEATS)
        self.agents: list[str] = []
        self._seen = np.zeros((4, 8), np.float32)

    def observation_space(self, agent: str) -> spaces.Box:  # noqa: ARG002  the interface's
        """Eight numbers."""
        return spaces.Box(-np.inf, np.inf, (8,), np.float32)

    def action_space(self, agent: str) -> Any:  # noqa: ARG002  the interface's
        """Five actions."""
        return spaces.Discrete(5)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, Any]:  # noqa: ARG002  the interface's
        """Begins with numbers of the seed."""
        self.agents = list(SEATS)
        self._seen = np.random.default_rng(seed).normal(size=(4, 8)).astype(np.float32)
        return self._observations(), {agent: {} for agent in SEATS}

    def step(self, actions: dict[str, int]) -> tuple[Any, Any, Any, Any, Any]:
        """Turns the numbers."""
        self._seen = np.roll(self._seen, 1, 1)
        for row, agent in enumerate(SEATS):
            self._seen[row, actions[agent]] += 0.5
        never = dict.fromkeys(SEATS, False)
        return self._observations(), dict.fromkeys(SEATS, 1.0), never, never, {agent: {} for agent in SEATS}

    def _observations(self) -> dict[str, np.ndarray]:
        return {agent: self._seen[row].copy() for row, agent in enumerate(SEATS)}


def scripted(observation: np.ndarray, reward: float | None, messages: tuple[Text, ...]) -> int:  # noqa: ARG001
    """The largest of the first five numbers."""
    return int(observation[:5].argmax())


class Paced:
    """Sixty actions a second, waited for without taking any CPU time."""

    def reset(self, info: ActorInfo) -> None:
        """Begins the clock."""
        self.info, self.step, self._due = info, 0, time.monotonic()

    async def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> int:  # noqa: ARG002
        """When it is time."""
        self.step += 1
        self._due = max(self._due + FRAME, time.monotonic())
        await asyncio.sleep(self._due - time.monotonic())
        return 0 if self.step < 30 else self.trouble()

    def trouble(self) -> int:
        """None: it goes on."""
        return 0


class Raising(Paced):
    """Raises an error after half a second."""

    def trouble(self) -> int:
        """The error."""
        raise RuntimeError("it stumbled")


class Outside(Paced):
    """Does something that is no action after half a second."""

    def trouble(self) -> int:
        """No action."""
        return 99


class Silent(Paced):
    """Does not answer after half a second."""

    def trouble(self) -> int:
        """For a minute."""
        time.sleep(60)
        return 0


class Late(Paced):
    """Answers a third of a second late after half a second, again and again, without taking any CPU time."""

    def trouble(self) -> int:
        """Takes its time."""
        time.sleep(20 * FRAME)
        return 0
