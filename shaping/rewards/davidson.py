"""The Bradley-Terry model of comparisons, with Davidson's (1970) extension for ties.

With scores s1 and s2 of two segments, the probabilities that the first is better, that the second is, and of a tie are
in proportion to exp(s1), exp(s2) and v exp((s1 + s2) / 2). With v = 0 this is Bradley and Terry's model.
"""

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.shaping.preferences.answers import Choice

if TYPE_CHECKING:
    import torch

OUTCOMES: Final = (Choice.FIRST, Choice.SECOND, Choice.TIE)
"""The choices, in the order of their probabilities."""


def probabilities(
    first: np.ndarray[Any, Any], second: np.ndarray[Any, Any], log_ties: float = -np.inf
) -> np.ndarray[Any, Any]:
    """The probabilities of `OUTCOMES`.

    Args:
      first: `[...]`, scores of the first segments.
      second: `[...]`, scores of the second ones.
      log_ties: the logarithm of v.

    Returns:
      `[..., 3]` float64, which add up to 1.

    >>> probabilities(np.array(0.0), np.array(0.0), log_ties=0.0).round(3).tolist()
    [0.333, 0.333, 0.333]
    >>> probabilities(np.array(np.log(3)), np.array(0.0)).round(3).tolist()
    [0.75, 0.25, 0.0]
    """
    half = (np.asarray(first, np.float64) - second) / 2
    logits = np.stack([half, -half, np.full_like(half, log_ties)], axis=-1)
    odds = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))


def loss(
    first: "torch.Tensor", second: "torch.Tensor", outcomes: "torch.Tensor", log_ties: "torch.Tensor | None"
) -> "torch.Tensor":
    """The negative logarithm of the probability of each outcome: `[...]`.

    Args:
      first: `[...]`, scores of the first segments.
      second: `[...]`, scores of the second ones.
      outcomes: `[...]` int64, numbers of `OUTCOMES`.
      log_ties: broadcast with `first`; None: there are no ties.
    """
    with needs("torch"):
        import torch
    half = (first - second) / 2
    ties = torch.full_like(half, -torch.inf) if log_ties is None else log_ties.expand_as(half)
    logits = torch.stack([half, -half, ties], dim=-1)
    return -torch.log_softmax(logits, dim=-1).gather(-1, outcomes[..., None])[..., 0]
