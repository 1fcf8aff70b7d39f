"""Linear, gradient-descent Sarsa(lambda), with replacing traces of features."""

from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.shaping.learners.features import ActionFeatures


@dataclass(frozen=True, slots=True)
class SarsaConfig:
    """The parameters of Sarsa.

    Attributes:
      step_size: alpha.
      discount: gamma.
      epsilon: share of random actions.
      trace: lambda.
    """

    step_size: float = 0.1
    discount: float = 0.99
    epsilon: float = 0.1
    trace: float = 0.9


class LinearSarsa:
    """An agent that learns from rewards of the environment (Sutton and Barto, Sarsa(lambda)).

    Args:
      features: of the possible actions.
      config: parameters.
      seed: of random actions.

    Attributes:
      features: of the possible actions.
      config: parameters.
      weights: `[size]` float64.
    """

    def __init__(self, features: ActionFeatures, config: SarsaConfig | None = None, *, seed: int = 0) -> None:
        self.features, self.config = features, SarsaConfig() if config is None else config
        self.weights = np.zeros(features.size)
        self._traces = np.zeros(features.size)
        self._random = np.random.default_rng(seed)

    def values(self, observation: Any) -> tuple[Any, np.ndarray]:
        """The actions to choose from, and their values."""
        actions, features = self.features.choices(observation)
        return actions, (features * self.weights).sum(axis=1)

    def act(self, observation: Any) -> Any:
        """A random action with probability epsilon, else the best one."""
        actions, values = self.values(observation)
        if self._random.random() < self.config.epsilon:
            return actions[int(self._random.integers(len(actions)))]
        return actions[int(values.argmax())]

    def begin(self) -> None:
        """Begins an episode."""
        self._traces = np.zeros_like(self._traces)

    def learn(
        self, observation: Any, action: Any, reward: float, next_observation: Any = None, next_action: Any = None
    ) -> None:
        """Learns a step.

        Args:
          observation: before the action.
          action: that was done.
          reward: for it.
          next_observation: after it.
          next_action: the next one; None: the episode is over.
        """
        features = self.features.of(observation, action)
        target = reward
        if next_action is not None:
            following = self.features.of(next_observation, next_action)
            target += self.config.discount * float((following * self.weights).sum())
        error = target - float((features * self.weights).sum())
        self._traces = np.maximum(self.config.discount * self.config.trace * self._traces, features)
        self.weights = self.weights + self.config.step_size * error * self._traces
