"""Trains reward models with PyTorch: from preferences, and from credit. The same arguments give the same weights."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from rlds_kit.base.arguments import positive
from rlds_kit.base.extras import needs
from rlds_kit.shaping.rewards.comparisons import Pair
from rlds_kit.shaping.rewards.davidson import OUTCOMES, loss
from rlds_kit.shaping.rewards.inputs import Inputs, Stacked, segment_vectors
from rlds_kit.shaping.rewards.model import RewardModel

if TYPE_CHECKING:
    import torch

Networks: TypeAlias = "Callable[[torch.Tensor], torch.Tensor]"
"""The outputs of each member for its samples: from `[members, ..., width]` to `[members, ...]`."""
Losses: TypeAlias = "Callable[[Networks, torch.Tensor, torch.Tensor], torch.Tensor]"
"""The loss of samples `[members, b]`, from the networks, the samples and log_ties `[members, 1]`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The parameters of the training of a reward model.

    Attributes:
      seed: of initial weights and of the order of samples.
      members: networks of the ensemble; each has its own initial weights and order.
      hidden: units of the hidden layers.
      epochs: number of passes over the samples.
      batch: samples of a step.
      learning_rate: of AdamW.
      weight_decay: of AdamW.

    Raises:
      ValueError: a number is below 1, or a rate is not positive.
    """

    seed: int = 0
    members: int = 3
    hidden: tuple[int, ...] = (32, 32)
    epochs: int = 100
    batch: int = 32
    learning_rate: float = 3e-3
    weight_decay: float = 1e-3

    def __post_init__(self) -> None:
        for name, number in (("members", self.members), ("epochs", self.epochs), ("batch", self.batch)):
            positive(name, number)
        if not (0 < self.learning_rate < np.inf and 0 <= self.weight_decay < np.inf):
            rates = f"{self.learning_rate} and {self.weight_decay}"
            raise ValueError(f"expected learning_rate above 0 and weight_decay from 0 on, got {rates}")


def fit_preferences(
    episodes: Iterable[Stacked], pairs: Sequence[Pair], inputs: Inputs, training: Training | None = None
) -> RewardModel:
    """Trains a reward model so that sums of rewards predict which segments are better.

    Args:
      episodes: with the segments, for example `dataset.episodes`.
      pairs: the result of `pairs`.
      inputs: what the model reads of a step.
      training: how; None: the defaults.

    Raises:
      ValueError: there is no pair.
      KeyError: an episode is missing.
      SpecError: a field is missing or has other values.
      MissingExtraError: PyTorch is not installed.
    """
    if not pairs:
        raise ValueError("expected pairs to learn from, got none; comparisons that cannot be decided give none")
    with needs("torch"):
        import torch
    training = training or Training()
    segments = [segment for pair in pairs for segment in (pair.first, pair.second)]
    vectors = segment_vectors(episodes, segments, inputs)
    steps, present = _padded(vectors)
    steps, present = (each.reshape(len(pairs), 2, *each.shape[1:]) for each in (steps, present))
    outcomes = torch.tensor([OUTCOMES.index(pair.choice) for pair in pairs])
    weights = torch.tensor([pair.weight for pair in pairs])
    has_ties = any(pair.choice is OUTCOMES[2] for pair in pairs)
    standard = _Standard.of(np.concatenate(vectors))
    data, mask = torch.from_numpy(standard.of_all(steps)), torch.from_numpy(present)

    def losses(networks: Networks, chosen: torch.Tensor, log_ties: torch.Tensor) -> torch.Tensor:
        scores = (networks(data[chosen]) * mask[chosen]).sum(dim=-1)
        each = loss(scores[..., 0], scores[..., 1], outcomes[chosen], log_ties if has_ties else None)
        return (each * weights[chosen]).mean()

    trained = _train(len(pairs), len(standard.mean), losses, training)
    record = {**asdict(training), "from": "preferences", "pairs": len(pairs)}
    model = _model(inputs, standard, trained, record, has_ties=has_ties)
    return _scaled(model, np.concatenate(vectors))


def fit_credit(
    inputs: Inputs,
    vectors: np.ndarray[Any, Any],
    credit: np.ndarray[Any, Any],
    weights: np.ndarray[Any, Any] | None = None,
    training: Training | None = None,
) -> RewardModel:
    """Trains a reward model to predict the credit of single steps, by least squares.

    Args:
      inputs: what the model reads of a step.
      vectors: `[n, width]` of the steps, as `inputs.vectors` returns.
      credit: `[n]`, the target of each step.
      weights: `[n]`, of each step; None: all equal.
      training: how; None: the defaults.

    Raises:
      ValueError: shapes do not fit, there is no step, or a number is not finite.
      MissingExtraError: PyTorch is not installed.
    """
    weights = np.ones(len(vectors)) if weights is None else weights
    _require_steps(vectors, credit, weights)
    with needs("torch"):
        import torch
    training, standard = training or Training(), _Standard.of(vectors)
    data = torch.from_numpy(standard.of_all(vectors))
    target, weight = (torch.from_numpy(np.asarray(each, np.float32)) for each in (credit, weights))

    def losses(networks: Networks, chosen: torch.Tensor, _: torch.Tensor) -> torch.Tensor:
        return (weight[chosen] * (networks(data[chosen]) - target[chosen]) ** 2).mean()

    trained = _train(len(vectors), len(standard.mean), losses, training)
    return _model(inputs, standard, trained, {**asdict(training), "from": "credit", "steps": len(vectors)})


def _require_steps(*arrays: np.ndarray[Any, Any]) -> None:
    vectors, *rest = shapes = [np.shape(each) for each in arrays]
    if len(vectors) != 2 or not vectors[0] or any(each != vectors[:1] for each in rest):
        raise ValueError(f"expected vectors [n, width], and a credit and a weight for each [n], got {shapes}")
    if not all(np.isfinite(each).all() for each in arrays):
        raise ValueError("expected finite vectors, credit and weights, got others; leave such steps out")


@dataclass(frozen=True, slots=True)
class _Standard:
    """Mean and deviation of inputs; the deviation of a constant is set to 1."""

    mean: np.ndarray[Any, Any]
    deviation: np.ndarray[Any, Any]

    @classmethod
    def of(cls, vectors: np.ndarray[Any, Any]) -> "_Standard":
        deviation = vectors.std(axis=0, dtype=np.float64)
        mean = vectors.mean(axis=0, dtype=np.float64)
        return cls(mean.astype(np.float32), np.where(deviation > 1e-6, deviation, 1).astype(np.float32))

    def of_all(self, vectors: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
        return np.asarray((vectors - self.mean) / self.deviation, np.float32)


def _padded(vectors: Sequence[np.ndarray[Any, Any]]) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """`[segments, longest, width]`, and `[segments, longest]` float32: 1 where there is a step."""
    longest = max(len(each) for each in vectors)
    steps = np.zeros((len(vectors), longest, vectors[0].shape[1]), np.float32)
    present = np.zeros((len(vectors), longest), np.float32)
    for row, each in enumerate(vectors):
        steps[row, : len(each)], present[row, : len(each)] = each, 1
    return steps, present


@dataclass(frozen=True, slots=True)
class _Trained:
    weights: "list[torch.Tensor]"
    biases: "list[torch.Tensor]"
    log_ties: "torch.Tensor"


def _train(samples: int, width: int, losses: Losses, training: Training) -> _Trained:
    """Trains all members at once, in each step with different samples for each."""
    with needs("torch"):
        import torch
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # sums must not depend on the number of cores, and the networks are too small for several
    try:
        return _train_alone(samples, width, losses, training)
    finally:
        torch.set_num_threads(threads)


def _train_alone(samples: int, width: int, losses: Losses, training: Training) -> _Trained:
    with needs("torch"):
        import torch
    random = np.random.default_rng(training.seed)
    parts = _initial(width, training, random)
    parameters = [*parts.weights, *parts.biases, parts.log_ties]
    decayed = {"params": parts.weights, "weight_decay": training.weight_decay}
    rest = {"params": [*parts.biases, parts.log_ties], "weight_decay": 0.0}
    optimizer = torch.optim.AdamW([decayed, rest], lr=training.learning_rate)
    for _ in range(training.epochs):
        order = np.stack([random.permutation(samples) for _ in range(training.members)])
        for start in range(0, samples, training.batch):
            chosen = torch.from_numpy(order[:, start : start + training.batch])
            value = training.members * losses(lambda given: _forward(parts, given), chosen, parts.log_ties)
            gradients = torch.autograd.grad(value, parameters, allow_unused=True)
            for parameter, gradient in zip(parameters, gradients, strict=True):
                parameter.grad = gradient
            optimizer.step()
    return parts


def _initial(width: int, training: Training, random: np.random.Generator) -> _Trained:
    with needs("torch"):
        import torch
    sizes, members = [width, *training.hidden, 1], training.members
    weights = [
        torch.from_numpy((random.standard_normal((members, into, out)) / np.sqrt(into)).astype(np.float32))
        for into, out in pairwise(sizes)
    ]
    biases = [torch.zeros(members, 1, out) for out in sizes[1:]]
    log_ties = torch.zeros(members, 1)
    for each in (*weights, *biases, log_ties):
        each.requires_grad_()
    return _Trained(weights, biases, log_ties)


def _forward(parts: _Trained, given: "torch.Tensor") -> "torch.Tensor":
    """The outputs of each member for its samples: from `[members, ..., width]` to `[members, ...]`."""
    hidden = given.flatten(1, -2)
    for number, (weight, bias) in enumerate(zip(parts.weights, parts.biases, strict=True)):
        hidden = (hidden.tanh() if number else hidden) @ weight + bias
    return hidden[..., 0].reshape(given.shape[:-1])


def _model(
    inputs: Inputs, standard: _Standard, trained: _Trained, record: dict[str, Any], *, has_ties: bool = False
) -> RewardModel:
    weights, biases = (
        tuple(each.detach().numpy().copy() for each in tensors) for tensors in (trained.weights, trained.biases)
    )
    log_ties = float(trained.log_ties.detach().mean()) if has_ties else -np.inf
    return RewardModel(inputs, standard.mean, standard.deviation, weights, biases, 0.0, 1.0, log_ties, record)


def _scaled(model: RewardModel, vectors: np.ndarray[Any, Any]) -> RewardModel:
    """Scales the model so that the worst steps have reward 0, and the best ones 1."""
    low, high = np.quantile(model.rewards(vectors), [0.01, 0.99])
    unit = float(high - low) if high > low else 1.0
    return RewardModel(
        *(model.inputs, model.mean, model.deviation, model.weights, model.biases),
        *(float(low), unit, model.log_ties, model.training),
    )
