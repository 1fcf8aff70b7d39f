"""Reward models: an ensemble of small networks from vectors of steps to rewards. Only training needs PyTorch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from rlds_kit.base.errors import SpecError
from rlds_kit.shaping.rewards.inputs import Inputs


@dataclass(frozen=True, slots=True, eq=False)
class RewardModel:
    """An ensemble of networks with tanh units; its reward is the mean of its members.

    Preferences do not determine a reward's scale and zero: models that are trained from them give 0 to the worst steps
    of their training data and 1 to the best ones (their 1st and 99th percentile).

    Attributes:
      inputs: the fields that it reads.
      mean: `[width]`, subtracted from the inputs.
      deviation: `[width]`, by which they are then divided.
      weights: of each layer, `[members, in, out]`.
      biases: of each layer, `[members, 1, out]`.
      zero: the output of the networks for a reward of 0.
      unit: the difference of their outputs for rewards of 1 and 0.
      log_ties: logarithm of Davidson's parameter for ties; minus infinity: there were none.
      training: parameters of its training: numbers and text.

    Raises:
      ValueError: the shapes of the arrays do not fit together.
    """

    inputs: Inputs
    mean: np.ndarray[Any, Any]
    deviation: np.ndarray[Any, Any]
    weights: tuple[np.ndarray[Any, Any], ...]
    biases: tuple[np.ndarray[Any, Any], ...]
    zero: float
    unit: float
    log_ties: float
    training: Mapping[str, Any]

    def __post_init__(self) -> None:
        width = len(self.mean)
        _require_shape("deviation", self.deviation, self.mean.shape)
        if not self.weights or len(self.weights) != len(self.biases):
            raise ValueError(f"expected a bias for each weight, got {len(self.weights)} and {len(self.biases)}")
        for number, (weight, bias) in enumerate(zip(self.weights, self.biases, strict=True)):
            out = 1 if number == len(self.weights) - 1 else weight.shape[-1]
            _require_shape(f"weight {number}", weight, (self.members, width, out))
            _require_shape(f"bias {number}", bias, (self.members, 1, out))
            width = out

    @property
    def members(self) -> int:
        """The number of networks."""
        return len(self.weights[0])

    def by_member(self, vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The rewards by each member: `[members, n]` float64.

        Args:
          vectors: `[n, width]`, as `inputs.vectors` returns.

        Raises:
          SpecError: they have another width.
        """
        if vectors.ndim != 2 or vectors.shape[1] != len(self.mean):
            raise SpecError(f"expected vectors of {len(self.mean)} numbers, [n, {len(self.mean)}], got {vectors.shape}")
        hidden = np.asarray((vectors - self.mean) / self.deviation, np.float64)
        hidden = np.broadcast_to(hidden, (self.members, *hidden.shape))
        for weight, bias in zip(self.weights[:-1], self.biases[:-1], strict=True):
            hidden = np.tanh(hidden @ weight.astype(np.float64) + bias)
        found = (hidden @ self.weights[-1].astype(np.float64) + self.biases[-1])[..., 0]
        return (np.asarray(found, np.float64) - self.zero) / self.unit

    def rewards(self, vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        """The rewards: `[n]` float64. Arguments and errors as in `by_member`."""
        return np.asarray(self.by_member(vectors).mean(axis=0))

    def of_steps(self, values: Mapping[str, Any]) -> np.ndarray[Any, Any]:
        """The rewards of n steps: `[n]` float64.

        Args:
          values: by field, `[n, ...]` numbers; fields that the model does not read are ignored.

        Raises:
          SpecError: a field is missing, or has another shape than in training.
        """
        return self.rewards(self.inputs.vectors(values))


def _require_shape(name: str, array: np.ndarray[Any, Any], expected: tuple[int, ...]) -> None:
    if array.shape != expected:
        raise ValueError(f"{name}: expected an array of shape {expected}, as the others have it, got {array.shape}")
