"""An episode cannot be read.

Stored bytes do not match their checksum, are missing, or are not what the format says. The other rules see what comes
before them in the episode, and in a file of a foreign format nothing of what comes after.

Disks, copies and interrupted downloads damage files. What is damaged is never decoded to a false value, so training
code would stop with the same error.

`rlds-kit verify` lists the bytes and `rlds-kit repair` copies everything that can be saved. For a foreign format get
the file again and compare its checksum.
"""

from collections.abc import Iterable

from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject


@rule("RK001", Severity.ERROR)
class Unreadable(Check):
    """Says what opening went over; what reading runs into is added to it."""

    def begin(self, subject: Subject) -> Iterable[Hit]:
        """Checks the dataset."""
        return [Hit(each) for each in subject.damage]
