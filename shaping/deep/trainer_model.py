"""A model of the trainer, which gives feedback in place of the person who stopped (GUIDE, 2024)."""

from typing import TYPE_CHECKING, Any

import numpy as np

from rlds_kit.base.extras import needs

if TYPE_CHECKING:
    import torch


class TrainerModel:
    """Learns to predict the feedback of the trainer, and replaces the trainer when no more feedback comes.

    Args:
      network: from `[n, ...]` states to `[n, actions]`: the feedback for each action.
      patience: seconds without feedback after which the trainer counts as gone.
      learning_rate: of Adam.
      batch: samples of a step of the optimizer.
      seed: of the order of samples.

    Raises:
      ValueError: patience is not positive.
      MissingExtraError: PyTorch is not installed.
    """

    def __init__(
        self,
        network: "torch.nn.Module",
        *,
        patience: float = 10.0,
        learning_rate: float = 3e-3,
        batch: int = 64,
        seed: int = 0,
    ) -> None:
        if patience <= 0:
            raise ValueError(f"patience: expected seconds, more than 0, got {patience}")
        with needs("torch"):
            import torch
        self.network, self.patience = network, patience
        self._batch, self._random = batch, np.random.default_rng(seed)
        self._optimizer = torch.optim.Adam(network.parameters(), lr=learning_rate)
        self._states: list[np.ndarray[Any, Any]] = []
        self._labels: list[tuple[int, float, float]] = []
        self._latest: float | None = None

    def __len__(self) -> int:
        """The number of steps with feedback that it has seen."""
        return len(self._labels)

    def saw(self, state: np.ndarray[Any, Any], action: int, value: float, time: float, weight: float = 1.0) -> None:
        """Stores feedback of the trainer for a step.

        Args:
          state: of the step.
          action: of the step.
          value: of the feedback.
          time: of the feedback, in seconds.
          weight: of the sample: the probability that the feedback is for this step.
        """
        self._states.append(np.array(state, np.float32))
        self._labels.append((int(action), float(value), float(weight)))
        self._latest = time if self._latest is None else max(self._latest, time)

    def has_taken_over(self, time: float) -> bool:
        """Whether the trainer gave feedback, and has given none for longer than `patience`; time is in seconds."""
        return self._latest is not None and time - self._latest > self.patience

    def learn(self, steps: int) -> float:
        """Makes this many steps of the optimizer; returns the mean loss of the last one.

        Raises:
          ValueError: there is no feedback to learn from.
        """
        import torch

        if not self._labels or steps < 1:
            raise ValueError(f"expected feedback and at least one step, got {len(self)} labels and {steps} steps")
        states, loss = torch.from_numpy(np.stack(self._states)), torch.zeros(())
        actions = torch.tensor([[each[0]] for each in self._labels])
        values, weights = (torch.tensor([each[side] for each in self._labels]) for side in (1, 2))
        for _ in range(steps):
            chosen = torch.from_numpy(self._random.integers(len(self), size=self._batch))
            predicted = self.network(states[chosen]).gather(1, actions[chosen])[:, 0]
            loss = (weights[chosen] * (predicted - values[chosen]) ** 2).mean()
            self._optimizer.zero_grad()
            loss.backward()
            self._optimizer.step()
        return float(loss.detach())

    def feedback(self, state: np.ndarray[Any, Any], action: int) -> float:
        """The predicted feedback of the trainer for an action in a state."""
        import torch

        with torch.no_grad():
            return float(self.network(torch.from_numpy(np.asarray(state, np.float32))[None])[0, action])
