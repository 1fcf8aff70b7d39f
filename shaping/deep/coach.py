"""COACH (MacGlashan et al. 2017): feedback is the advantage of the policy's actions, and updates it along a trace."""

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from rlds_kit.base.extras import needs

if TYPE_CHECKING:
    import torch


class Coach:
    """A policy that feedback reinforces.

    A trace is multiplied by `decay` in each step. Then the gradient of the logarithm of the probability of an action is
    added to it: of the action `delay` steps ago. Feedback moves the weights by learning rate * value * trace. With
    `entropy`, each feedback also moves them towards a less certain policy, as in Deep COACH.

    Args:
      network: from `[n, ...]` states to `[n, actions]` logits, such as `perceptron(...)`.
      learning_rate: of feedback.
      decay: of the trace in a step, in [0, 1).
      delay: steps from an action to the feedback for it.
      entropy: factor of the entropy of the policy in the latest credited state; 0: none.
      seed: of the actions.

    Raises:
      ValueError: decay or delay is out of range.
      MissingExtraError: PyTorch is not installed.
    """

    def __init__(
        self,
        network: "torch.nn.Module",
        *,
        learning_rate: float = 0.05,
        decay: float = 0.9,
        delay: int = 0,
        entropy: float = 0.0,
        seed: int = 0,
    ) -> None:
        if not 0 <= decay < 1 or delay < 0:
            raise ValueError(f"expected a decay in [0, 1) and a delay from 0 steps on, got {decay} and {delay}")
        with needs("torch"):
            import torch
        self.network = network
        self._learning_rate, self._decay, self._entropy = learning_rate, decay, entropy
        self._past: deque[tuple[np.ndarray[Any, Any], int]] = deque(maxlen=delay + 1)
        self._random = np.random.default_rng(seed)
        self.trace = [torch.zeros_like(each) for each in network.parameters()]

    def probabilities(self, state: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The probability of each action: `[actions]`."""
        import torch

        with torch.no_grad():
            logits = self.network(torch.from_numpy(np.asarray(state, np.float32))[None])[0]
            return np.asarray(torch.softmax(logits.double(), dim=-1).numpy())

    def act(self, state: np.ndarray[Any, Any]) -> int:
        """An action, drawn from the policy."""
        given = self.probabilities(state)
        return int(self._random.choice(len(given), p=given))

    def stepped(self, state: np.ndarray[Any, Any], action: int) -> None:
        """Stores a step, and adds the one that is `delay` steps older to the trace."""
        import torch

        self._past.append((np.array(state, np.float32), int(action)))
        for each in self.trace:
            each.mul_(self._decay)
        if len(self._past) == self._past.maxlen:
            then, done = self._past[0]
            likelihood = torch.log_softmax(self.network(torch.from_numpy(then)[None])[0], dim=-1)[done]
            self._add(self.trace, likelihood, 1.0)

    def feedback(self, value: float) -> None:
        """Learns from feedback that arrives after the latest step. Feedback of 0 is none."""
        import torch

        if value == 0:
            return
        weights = list(self.network.parameters())
        with torch.no_grad():
            for weight, trace in zip(weights, self.trace, strict=True):
                weight.add_(trace, alpha=self._learning_rate * value)
        if self._entropy and len(self._past) == self._past.maxlen:
            logs = torch.log_softmax(self.network(torch.from_numpy(self._past[0][0])[None])[0], dim=-1)
            self._add(weights, -(logs.exp() * logs).sum(), self._learning_rate * self._entropy)

    def end(self) -> None:
        """Ends an episode: its steps get no more feedback."""
        self._past.clear()
        for each in self.trace:
            each.zero_()

    def _add(self, sums: "list[Any]", value: "torch.Tensor", factor: float) -> None:
        """Adds the gradient of a value to tensors that are like the weights."""
        import torch

        gradients = torch.autograd.grad(value, list(self.network.parameters()))
        with torch.no_grad():
            for each, gradient in zip(sums, gradients, strict=True):
                each.add_(gradient, alpha=factor)
