"""Labels: targets for the prediction of a model for a step, or for several steps together."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from rlds_kit.shaping.credit.assigner import Credit


class Label(NamedTuple):
    """A target for the prediction of a model.

    Attributes:
      features: `[n]` float64.
      target: the feedback.
      importance: weight of the squared error.
    """

    features: np.ndarray
    target: float
    importance: float


Labelling: TypeAlias = Callable[[Sequence[np.ndarray], Sequence[float], float], list[Label]]
"""The labels of feedback, from the features of steps, their credit and the value: one of the two functions below."""


def per_step_labels(features: Sequence[np.ndarray], weights: Sequence[float], value: float) -> list[Label]:
    """A label for each step that has credit: its target is the feedback, its importance the credit (Deep TAMER).

    Args:
      features: of the steps of the credit, `[n]` float64 each.
      weights: of the credit, in the same order.
      value: of the feedback.

    >>> [(each.target, each.importance) for each in per_step_labels([np.ones(2)] * 3, (0.25, 0.0, 0.75), 1.0)]
    [(1.0, 0.25), (1.0, 0.75)]
    """
    return [Label(each, value, weight) for each, weight in zip(features, weights, strict=True) if weight > 0]


def aggregate_labels(features: Sequence[np.ndarray], weights: Sequence[float], value: float) -> list[Label]:
    """One label for all steps that have credit: the features are the sum, weighted by credit (K-CAP 2009).

    Arguments as for `per_step_labels`; there must be a step. Returns one label.

    >>> aggregate_labels([np.array([1.0, 0.0]), np.array([0.0, 1.0])], (0.25, 0.75), 1.0)[0].features.tolist()
    [0.25, 0.75]
    """
    total = np.zeros_like(features[0])
    for each, weight in zip(features, weights, strict=True):
        total = total + weight * each
    return [Label(total, value, 1.0)]


def per_step_loss(predictions: Sequence[float], credit: Credit, value: float) -> float:
    """The sum over steps of credit times squared error.

    Args:
      predictions: for each step of the credit.
      credit: of the feedback.
      value: of the feedback.

    >>> per_step_loss([0.0, 1.0], Credit(3, (0.5, 0.5)), 1.0)
    0.5
    """
    return sum(weight * (value - each) ** 2 for each, weight in zip(predictions, credit.weights, strict=True))


def aggregate_loss(predictions: Sequence[float], credit: Credit, value: float) -> float:
    """The squared error of the sum of predictions, weighted by credit. Arguments as for `per_step_loss`.

    >>> aggregate_loss([0.0, 1.0], Credit(3, (0.5, 0.5)), 1.0)
    0.25
    """
    together = sum(weight * each for each, weight in zip(predictions, credit.weights, strict=True))
    return (value - together) ** 2
