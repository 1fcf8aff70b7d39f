"""Deep TAMER (Warnell et al. 2018): a network that predicts the feedback for each action, and acts greedily."""

from collections import deque
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from rlds_kit.base.extras import needs

if TYPE_CHECKING:
    import torch

RECENT: Final = 10_000
"""Number of stored steps that can get credit; more than any window needs."""


class Sample(NamedTuple):
    """A step, with feedback that is credited to it.

    Attributes:
      state: `[...]` of the step.
      action: of the step.
      value: of the feedback.
      weight: the probability of the delay within the step.
    """

    state: np.ndarray[Any, Any]
    action: int
    value: float
    weight: float


def uniform_weight(start: float, end: float, window: tuple[float, float]) -> float:
    """The probability that feedback is for a step, if its delay is uniform in a window.

    Args:
      start: seconds from the begin of the step to the feedback.
      end: seconds from the end of the step to the feedback.
      window: shortest and longest delay, in seconds.

    >>> uniform_weight(1.0, 0.5, (0.0, 1.0))
    0.5
    """
    low, high = window
    return max(0.0, min(start, high) - max(end, low)) / (high - low)


class DeepTamer:
    """Learns to predict the feedback for each action in a state, and chooses the action with the largest prediction.

    The loss of a sample is `weight * (prediction - value) ** 2`. Every event of feedback gives one step of the
    optimizer on the samples that it is credited to, and `replay` gives more on samples of the past.

    Args:
      network: from `[n, ...]` states to `[n, actions]`, such as `perceptron(...)`.
      learning_rate: of the optimizer.
      window: shortest and longest delay of feedback, in seconds.
      batch: samples of a replay.
      seed: of the order of replays, and of ties between actions.
      is_sgd: whether the optimizer is plain gradient descent; else it is Adam.

    Raises:
      ValueError: the window is invalid.
      MissingExtraError: PyTorch is not installed.
    """

    def __init__(
        self,
        network: "torch.nn.Module",
        *,
        learning_rate: float = 1e-3,
        window: tuple[float, float] = (0.2, 4.0),
        batch: int = 32,
        seed: int = 0,
        is_sgd: bool = False,
    ) -> None:
        if not 0 <= window[0] < window[1]:
            raise ValueError(f"window: expected a delay in seconds and a longer one, got {window}")
        with needs("torch"):
            import torch
        self.network, self.window, self.batch = network, window, batch
        self.samples: list[Sample] = []
        self._recent: deque[tuple[np.ndarray[Any, Any], int, float, float]] = deque(maxlen=RECENT)
        self._random = np.random.default_rng(seed)
        optimizer = torch.optim.SGD if is_sgd else torch.optim.Adam
        self._optimizer = optimizer(network.parameters(), lr=learning_rate)

    def predict(self, states: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The predicted feedback: `[n, actions]`, for `[n, ...]` states."""
        import torch

        with torch.no_grad():
            return np.asarray(self.network(torch.from_numpy(np.asarray(states, np.float32))).numpy())

    def act(self, state: np.ndarray[Any, Any]) -> int:
        """The action with the largest expected feedback; one of them at random if there are several."""
        found = self.predict(np.asarray(state)[None])[0]
        return int(self._random.choice(np.flatnonzero(found == found.max())))

    def stepped(self, state: np.ndarray[Any, Any], action: int, start: float, end: float) -> None:
        """Stores a step for credit assignment.

        Args:
          state: in which the action was done.
          action: that was done.
          start: time in seconds at which it became visible.
          end: time at which the next one did.
        """
        oldest = end - self.window[1] - (end - start)
        while self._recent and self._recent[0][3] < oldest:
            self._recent.popleft()
        self._recent.append((np.array(state, np.float32), int(action), start, end))

    def feedback(self, value: float, time: float) -> list[Sample]:
        """Learns from an event of feedback; returns its samples. Feedback of 0 is ignored.

        Args:
          value: of the feedback.
          time: in seconds, on the clock of the steps.
        """
        if value == 0:
            return []
        credited = [
            Sample(state, action, value, uniform_weight(time - start, time - end, self.window))
            for state, action, start, end in self._recent
        ]
        new = [each for each in credited if each.weight > 0]
        if new:
            self.samples += new
            self.learn(new)
        return new

    def replay(self) -> None:
        """Learns from samples of the past; does nothing while there are none."""
        if self.samples:
            chosen = self._random.integers(len(self.samples), size=self.batch)
            self.learn([self.samples[each] for each in chosen])

    def learn(self, samples: list[Sample]) -> float:
        """One step of the optimizer, on the mean loss of samples; returns that loss."""
        import torch

        states = torch.from_numpy(np.stack([each.state for each in samples]))
        actions = torch.tensor([[each.action] for each in samples])
        values = torch.tensor([each.value for each in samples], dtype=torch.float32)
        weights = torch.tensor([each.weight for each in samples], dtype=torch.float32)
        predicted = self.network(states).gather(1, actions)[:, 0]
        loss = (weights * (predicted - values) ** 2).mean()
        self._optimizer.zero_grad()
        loss.backward()
        self._optimizer.step()
        return float(loss.detach())
