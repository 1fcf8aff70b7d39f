"""One reward of several for the same step and agent."""

from collections.abc import Callable, Sequence
from typing import Final

Judgements = Sequence[tuple[float, float]]
"""Values and confidences, in the order in which they were given."""
DEFAULT: Final = "mean"


def mean(judgements: Judgements) -> float:
    """The mean of values, weighted by their confidences; 0 if all confidences are 0 (Cogment).

    >>> mean([(1.0, 1.0), (-1.0, 0.5)])
    0.3333333333333333
    """
    weight = sum(confidence for _, confidence in judgements)
    return sum(value * confidence for value, confidence in judgements) / weight if weight else 0.0


def total(judgements: Judgements) -> float:
    """The sum of values times their confidences.

    >>> total([(1.0, 1.0), (-1.0, 0.5)])
    0.5
    """
    return sum((value * confidence for value, confidence in judgements), 0.0)


def latest(judgements: Judgements) -> float:
    """The value that was given last with any confidence; 0 if there is none.

    >>> latest([(1.0, 1.0), (-1.0, 0.5), (3.0, 0.0)])
    -1.0
    """
    return next((value for value, confidence in reversed(judgements) if confidence > 0), 0.0)


def surest(judgements: Judgements) -> float:
    """The value of the highest confidence, the first one of several; 0 if all confidences are 0.

    >>> surest([(1.0, 1.0), (-1.0, 0.5)])
    1.0
    """
    value, confidence = max(judgements, key=lambda each: each[1], default=(0.0, 0.0))
    return value if confidence > 0 else 0.0


AGGREGATES: Final[dict[str, Callable[[Judgements], float]]] = {
    DEFAULT: mean,
    "latest": latest,
    "sum": total,
    "surest": surest,
}
"""By the name that `TrialConfig.aggregate` has."""
