"""Actors that need nothing else: for tests, baselines and demonstrations."""

import copy
from collections.abc import Sequence
from typing import Any

import gymnasium

from rlds_kit import __version__
from rlds_kit.trials.actors.contract import ActorInfo, Text


class RandomActor:
    """Acts at random, within its space.

    >>> import gymnasium
    >>> from rlds_kit.trials.environments.actor_class import ActorClass
    >>> coin = ActorClass("coin", gymnasium.spaces.Discrete(1), gymnasium.spaces.Discrete(2))
    >>> actor = RandomActor()
    >>> actor.reset(ActorInfo(trial="1", seat="coin", actor_class=coin, seed=0))
    >>> actor.act(None, None, ()) in {0, 1}
    True
    """

    version = __version__
    _space: gymnasium.Space[Any]

    def reset(self, info: ActorInfo) -> None:
        """Seeds a copy of the action space."""
        self._space = copy.deepcopy(info.actor_class.action_space)
        self._space.seed(info.seed)

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        """A sample."""
        del observation, reward, messages
        return self._space.sample()


class ScriptedActor:
    """Does the actions of its configuration, `{"actions": [...]}`, and after the last one that one again."""

    version = __version__
    _actions: Sequence[Any]
    _next: int

    def reset(self, info: ActorInfo) -> None:
        """Begins with the first action.

        Raises:
          ValueError: the configuration has no actions.
        """
        self._actions, self._next = info.config.get("actions", ()), 0
        if not len(self._actions):
            raise ValueError(f'expected {{"actions": [...]}} as the configuration of {info.seat!r}, got {info.config}')

    def act(self, observation: Any, reward: float | None, messages: tuple[Text, ...]) -> Any:
        """The next action."""
        del observation, reward, messages
        action = self._actions[min(self._next, len(self._actions) - 1)]
        self._next += 1
        return action
