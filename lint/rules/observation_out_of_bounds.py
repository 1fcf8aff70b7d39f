"""An observation is outside the bounds of its spec.

An element is below the minimum or above the maximum that the dataset itself declares for it. Floats may be off by one
millionth, which is what rounding does.

Training code scales by the declared bounds, and a value outside leaves the range that a network or a discretisation
expects. Either the value is wrong or the space is; rlds_kit refuses such a step when it is recorded, but other
writers do not check.

Fix the space of the environment if it is too narrow, else find out where the value comes from.
"""

from rlds_kit.base.step import OBSERVATION
from rlds_kit.lint.bounded import BoundsCheck
from rlds_kit.lint.rule import Severity, rule


@rule("RK306", Severity.ERROR)
class ObservationOutOfBounds(BoundsCheck):
    """Compares observations with their bounds."""

    reads = (OBSERVATION,)
