"""TAMER and reinforcement learning together: both the feedback of a person and the rewards of the environment count.

Knox and Stone compared ways to combine a model H of feedback, learned by TAMER, with Sarsa. Each has a factor, which
decreases, so that rewards decide in the end.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from rlds_kit.shaping.learners.sarsa import LinearSarsa
from rlds_kit.shaping.learners.tamer import Tamer


class Combination(Protocol):
    """A way to combine the predictions of feedback with Sarsa."""

    def reward(self, reward: float, human: float, factor: float) -> float:
        """The reward that Sarsa learns from.

        Args:
          reward: of the environment.
          human: predicted feedback for what was done.
          factor: from 1 down to 0.
        """

    def choice(self, values: np.ndarray, human: np.ndarray, factor: float, random: np.random.Generator) -> int | None:
        """The number of the action to do; None: Sarsa chooses.

        Args:
          values: Sarsa's, of each action.
          human: predicted feedback for each.
          factor: from 1 down to 0.
          random: the random number generator.
        """


@dataclass(frozen=True, slots=True)
class RewardShaping:
    """The predicted feedback is added to rewards.

    >>> RewardShaping(weight=10.0).reward(-1.0, 0.5, 0.2)
    0.0
    """

    weight: float = 1.0

    def reward(self, reward: float, human: float, factor: float) -> float:
        """See `Combination`."""
        return reward + self.weight * factor * human

    def choice(self, values: np.ndarray, human: np.ndarray, factor: float, random: np.random.Generator) -> int | None:
        """See `Combination`."""
        del values, human, factor, random
        return None


@dataclass(frozen=True, slots=True)
class ActionBiasing:
    """The predicted feedback is added to values when an action is chosen; rewards do not change.

    >>> ActionBiasing(weight=1.0).choice(np.array([1.0, 0.5]), np.array([0.0, 1.0]), 1.0, np.random.default_rng(0))
    1
    """

    weight: float = 1.0

    def reward(self, reward: float, human: float, factor: float) -> float:
        """See `Combination`."""
        del human, factor
        return reward

    def choice(self, values: np.ndarray, human: np.ndarray, factor: float, random: np.random.Generator) -> int | None:
        """See `Combination`."""
        del random
        return int((values + self.weight * factor * human).argmax()) if factor else None


@dataclass(frozen=True, slots=True)
class ControlSharing:
    """With a probability, the action is the one with the best predicted feedback; rewards do not change.

    >>> ControlSharing(probability=1.0).choice(np.zeros(2), np.array([0.0, 1.0]), 1.0, np.random.default_rng(0))
    1
    """

    probability: float = 1.0

    def reward(self, reward: float, human: float, factor: float) -> float:
        """See `Combination`."""
        del human, factor
        return reward

    def choice(self, values: np.ndarray, human: np.ndarray, factor: float, random: np.random.Generator) -> int | None:
        """See `Combination`."""
        del values
        return int(human.argmax()) if random.random() < self.probability * factor else None


class SarsaWithFeedback:
    """A Sarsa agent that uses a model of feedback; the model may be trained before, or meanwhile.

    Args:
      sarsa: learns from rewards.
      tamer: predicts feedback; of the same actions.
      combination: of both.
      decay: of the factor with each episode.
      seed: of random choices.

    Attributes:
      factor: of the feedback in this episode.
    """

    def __init__(
        self, sarsa: LinearSarsa, tamer: Tamer, combination: Combination, *, decay: float = 0.98, seed: int = 0
    ) -> None:
        self._sarsa, self._tamer, self._combination = sarsa, tamer, combination
        self._decay, self.factor = decay, 1.0
        self._random = np.random.default_rng(seed)

    def act(self, observation: Any) -> Any:
        """An action, as the combination chooses it."""
        actions, values = self._sarsa.values(observation)
        human = np.array(list(self._tamer.predict(observation).values()))
        chosen = self._combination.choice(values, human, self.factor, self._random)
        return self._sarsa.act(observation) if chosen is None else actions[chosen]

    def learn(
        self, observation: Any, action: Any, reward: float, next_observation: Any = None, next_action: Any = None
    ) -> None:
        """Learns a step; arguments as for `LinearSarsa.learn`."""
        human = self._tamer.predict(observation)[action]
        combined = self._combination.reward(reward, human, self.factor)
        self._sarsa.learn(observation, action, combined, next_observation, next_action)

    def begin(self) -> None:
        """Begins an episode."""
        self._sarsa.begin()

    def end(self) -> None:
        """Ends an episode: from now on the feedback counts less."""
        self.factor *= self._decay
