"""Actors that a network drives, and one that waits to be replaced."""

import asyncio
from typing import Any

import numpy as np

from rlds_kit.trials import ActorInfo, Text
from tests.trials.actors.odd_actors import Right


class Neural(Right):
    """Samples from a network with weights of its seed; one thread, one trial at a time: the same numbers everywhere."""

    def reset(self, info: ActorInfo) -> None:
        super().reset(info)
        import torch

        torch.set_num_threads(1)
        self._random = torch.Generator().manual_seed(info.seed)
        self._layers = [torch.randn(shape, generator=self._random) for shape in ((2, 16), (16, 2))]
        self._memory = torch.zeros(16)

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        import torch

        first, second = self._layers
        self._memory = torch.tanh(torch.as_tensor(observation, dtype=torch.float32) @ first + self._memory)
        odds = torch.softmax(self._memory @ second, 0)
        return np.int64(torch.multinomial(odds, 1, generator=self._random).item())


class Waiting(Right):
    """Does not answer the second request until it is replaced; others go on, wherever it is."""

    async def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        self.step += 1
        if self.is_time:
            await asyncio.sleep(1000)
        return 1
