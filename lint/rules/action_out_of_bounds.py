"""An action is outside the bounds of its spec.

An element is below the minimum or above the maximum that the dataset itself declares for it.

What the agent did is data, so rlds_kit records such an action and warns once. Many policies are Gaussian and rely on
the environment to clip; then the recorded action is not the one that was carried out, and an importance ratio or a
cloned policy is off. That is why this is a warning.

Record the action that was carried out, too, for instance as a field that `step_fn` makes, or clip before acting.
"""

from rlds_kit.base.step import ACTION
from rlds_kit.lint.bounded import BoundsCheck
from rlds_kit.lint.rule import Severity, rule


@rule("RK307", Severity.WARNING)
class ActionOutOfBounds(BoundsCheck):
    """Compares actions with their bounds."""

    reads = (ACTION,)
