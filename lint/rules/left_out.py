"""The reader of a foreign format leaves something out.

There are data that no other format gets to see: metadata that belong to no episode, groups that the format's standard
does not know, bytes that are damaged.

What is left out is missing in every conversion. Sometimes that is right, sometimes it is the column that mattered.

Inspect the data that the finding names with the format's own tools, and decide whether it matters.
"""

from collections.abc import Iterable

from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject


@rule("RK605", Severity.INFO)
class LeftOut(Check):
    """Checks the report of the reader."""

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports what the reader of the format left out."""
        for loss in dict.fromkeys(subject.losses):
            yield Hit(loss, field=loss.partition(":")[0])
