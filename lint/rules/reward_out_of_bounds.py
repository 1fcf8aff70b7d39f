"""A reward or a discount is outside its bounds.

A reward is below the minimum or above the maximum that the dataset declares, or a discount is below 0 or above 1.

Value functions are bounded by the bounds of rewards (categorical ones, as in C51, need them), and a discount above 1
makes returns grow without end. Either the number is wrong or the spec is.

Fix the spec if it is too narrow, else find out where the number comes from: rewards are often scaled or summed over
skipped frames after the spec was made.
"""

from collections.abc import Iterable

import numpy as np

from rlds_kit.base.step import DISCOUNT, REWARD
from rlds_kit.lint.bounded import BoundsCheck
from rlds_kit.lint.rule import Hit, Severity, rule
from rlds_kit.lint.subject import Subject


@rule("RK308", Severity.ERROR)
class RewardOutOfBounds(BoundsCheck):
    """Compares rewards and discounts with their bounds."""

    reads = (REWARD, DISCOUNT)

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Gathers the bounds; discounts have some whether or not the spec states so."""
        yield from super().begin(subject)
        self._bounds.setdefault(DISCOUNT, (np.zeros(()), np.ones(())))
