"""A2C (Mnih et al. 2016): a small actor-critic for experiments with rewards, on one core and repeatable."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

import gymnasium
import numpy as np
from numpy.typing import NDArray

from rlds_kit.base.extras import needs
from rlds_kit.shaping.deep.networks import perceptron

if TYPE_CHECKING:
    import torch

Env = gymnasium.Env[NDArray[np.float32], np.int64]


@dataclass(frozen=True)
class A2CSettings:
    """Parameters of A2C.

    Attributes:
      horizon: actions of each environment between updates.
      learning_rate: of Adam; falls linearly to 0 at the end of a training.
      discount: of rewards, for each action.
      trace: lambda of the generalised advantage (Schulman et al. 2016); 1: the sum of all rewards.
      entropy: factor of the policy's entropy.
      hidden: units of the two hidden layers of either network.
      largest: maximum norm of a gradient; larger ones are clipped.
    """

    horizon: int = 8
    learning_rate: float = 3e-3
    discount: float = 0.99
    trace: float = 0.95
    entropy: float = 0.01
    hidden: int = 64
    largest: float = 0.5


class PlayedEpisode(NamedTuple):
    """An episode that ended.

    Attributes:
      end: actions of all environments together until its end.
      length: in actions.
      total: of the rewards that the agent got.
      info: of its last step.
    """

    end: int
    length: int
    total: float
    info: dict[str, Any]


@dataclass
class _Played:
    """An environment and its episode so far."""

    env: Env
    length: int = 0
    total: float = 0.0


@dataclass
class _Rollout:
    """The data between two updates, `[horizon, n]`; `states` has one more."""

    states: NDArray[np.float32]
    actions: NDArray[np.int64]
    rewards: NDArray[np.float32]
    ends: NDArray[np.float32]


@dataclass
class A2C:
    """An agent, and the environments that it plays in parallel. An environment is reset when its episode ends.

    Truncation is treated like termination. Equal seeds give equal weights on one machine, with one thread
    (`torch.set_num_threads(1)`, which is also the fastest for networks of this size).

    Attributes:
      envs: with observations `[n]` float32 and discrete actions.
      seed: of the weights, the actions and the environments.
      settings: the parameters.
      episodes: those that ended, in order.

    Raises:
      ValueError: there is no environment.
      MissingExtraError: PyTorch is not installed.
    """

    envs: Sequence[Env]
    seed: int = 0
    settings: A2CSettings = A2CSettings()
    episodes: list[PlayedEpisode] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.envs:
            raise ValueError("expected at least one environment, got none")
        starts = [env.reset(seed=self.seed * len(self.envs) + number)[0] for number, env in enumerate(self.envs)]
        self._states = np.stack(starts).astype(np.float32)
        space: Any = self.envs[0].action_space
        n_states, hidden = self._states.shape[1], self.settings.hidden
        self.actor = perceptron(n_states, hidden, hidden, int(space.n), seed=2 * self.seed)
        self.critic = perceptron(n_states, hidden, hidden, 1, seed=2 * self.seed + 1)
        self._random = np.random.default_rng(self.seed)
        self._played = [_Played(env) for env in self.envs]
        self.n_steps = 0

    def act(self, states: NDArray[np.float32]) -> NDArray[np.int64]:
        """`[n]` actions for `[n, ...]` states, drawn from the policy."""
        with needs("torch"):
            import torch
        with torch.no_grad():
            logits = self.actor(torch.from_numpy(states)).numpy()
        return np.asarray((logits + self._random.gumbel(size=logits.shape)).argmax(-1))

    def play(self, n_episodes: int) -> list[PlayedEpisode]:
        """Plays new episodes without learning; returns the first ones to begin, not the first ones to end.

        Args:
          n_episodes: rounded up to a multiple of the number of environments.
        """
        for number, played in enumerate(self._played):
            self._begin(number, played)
        rounds = -(-n_episodes // len(self.envs))
        found: list[list[PlayedEpisode]] = [[] for _ in self.envs]
        while any(len(each) < rounds for each in found):
            known = len(self.episodes)
            _, _, ended = self._step()
            for number, episode in zip(np.flatnonzero(ended).tolist(), self.episodes[known:], strict=True):
                found[number].append(episode)
        return [episode for each in found for episode in each[:rounds]]

    def train(self, n_steps: int) -> Iterator[int]:
        """Trains for this many actions of all environments together; yields the number so far after each update."""
        with needs("torch"):
            import torch
        parameters = [*self.actor.parameters(), *self.critic.parameters()]
        optimizer = torch.optim.Adam(parameters, self.settings.learning_rate, eps=1e-5)
        while self.n_steps < n_steps:
            for group in optimizer.param_groups:
                group["lr"] = self.settings.learning_rate * (1 - self.n_steps / n_steps)
            optimizer.zero_grad()
            self._loss(self._rollout()).backward()  # type: ignore[no-untyped-call]  # PyTorch's
            torch.nn.utils.clip_grad_norm_(parameters, self.settings.largest)
            optimizer.step()
            yield self.n_steps

    def _rollout(self) -> _Rollout:
        shape = (self.settings.horizon, len(self.envs))
        states = np.zeros((shape[0] + 1, *self._states.shape), np.float32)
        actions, rewards, ends = np.zeros(shape, np.int64), np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for step in range(shape[0]):
            states[step] = self._states
            actions[step], rewards[step], ends[step] = self._step()
        states[-1] = self._states
        return _Rollout(states, actions, rewards, ends)

    def _step(self) -> tuple[NDArray[np.int64], NDArray[np.float32], NDArray[np.bool_]]:
        """One action in each environment; returns actions, rewards, and which episodes ended."""
        actions = self.act(self._states)
        rewards, ends = np.zeros(len(actions), np.float32), np.zeros(len(actions), np.bool_)
        for number, played in enumerate(self._played):
            state, reward, terminated, truncated, info = played.env.step(actions[number])
            self.n_steps += 1
            rewards[number], ends[number] = reward, terminated or truncated
            played.length, played.total = played.length + 1, played.total + float(reward)
            self._states[number] = state
            if ends[number]:
                self.episodes.append(PlayedEpisode(self.n_steps, played.length, played.total, info))
                self._begin(number, played)
        return actions, rewards, ends

    def _begin(self, number: int, played: _Played) -> None:
        played.length, played.total = 0, 0.0
        self._states[number], _ = played.env.reset()

    def _loss(self, rollout: _Rollout) -> "torch.Tensor":
        import torch

        values = self.critic(torch.from_numpy(rollout.states)).squeeze(-1)
        advantage = torch.from_numpy(advantages(values.detach().numpy(), rollout.rewards, rollout.ends, self.settings))
        logs = torch.log_softmax(self.actor(torch.from_numpy(rollout.states[:-1])), -1)
        chosen = logs.gather(-1, torch.from_numpy(rollout.actions)[..., None]).squeeze(-1)
        entropy = -(logs.exp() * logs).sum(-1).mean()
        error = (advantage + values[:-1].detach() - values[:-1]).square().mean()
        loss: torch.Tensor = 0.5 * error - (chosen * advantage).mean() - self.settings.entropy * entropy
        return loss


def advantages(
    values: NDArray[np.float32], rewards: NDArray[np.float32], ends: NDArray[np.float32], settings: A2CSettings
) -> NDArray[np.float32]:
    """Generalised advantages.

    Args:
      values: `[horizon + 1, n]` of the states.
      rewards: `[horizon, n]`.
      ends: `[horizon, n]`, 1 where the episode ended after the action.
      settings: discount and trace.

    Returns:
      `[horizon, n]` float32.

    >>> halves = A2CSettings(discount=0.5, trace=1.0)
    >>> zeros, paid = np.zeros((4, 1), np.float32), np.array([[0], [1], [4]], np.float32)
    >>> advantages(zeros, paid, np.array([[0], [1], [0]], np.float32), halves).ravel()
    array([0.5, 1. , 4. ], dtype=float32)
    """
    found = np.zeros_like(rewards)
    following = np.zeros(rewards.shape[1], np.float32)
    for step in reversed(range(len(rewards))):
        discount = np.float32(settings.discount) * (1 - ends[step])
        error = rewards[step] + discount * values[step + 1] - values[step]
        found[step] = following = error + discount * np.float32(settings.trace) * following
    return found
