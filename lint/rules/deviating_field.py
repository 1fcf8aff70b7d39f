"""A declared field has values that its spec does not allow.

The space or spec of a field says one dtype and shape, and values of another came: float64 in a float32 Box, a list, a
reward of shape (1,), an item that was not declared, or none where one was.

Such values are recorded exactly as they came, and `steps` gives them so. But arrays of them have another dtype than the
spec says, or there are none: loaders widen the dtype where that loses nothing, and refuse the field otherwise.

Correct the space, or convert the value with a wrapper such as DtypeObservation, and record again. To train on what is
there, name the dtype that a loader should give with `dtypes`.
"""

from collections.abc import Iterable

from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject


@rule("RK309", Severity.WARNING)
class DeviatingField(Check):
    """Checks the amendments of declared fields in the shards."""

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Says of each field what came."""
        for field, came in subject.deviations.items():
            yield Hit(f"values that the declared spec does not allow: {', '.join(came)}", field=field)
