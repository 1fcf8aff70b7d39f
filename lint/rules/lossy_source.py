"""Something was lost before the dataset was made.

Its metadata say so, or its format does: images that are stored as JPEG or as video, a file that ends inside a record.

What was lost does not come back by storing the rest without loss. Before version 0.5.4 Minari always stored images as
JPEG: of Breakout's pixels a quarter came back changed, some by 119 of 255. Small things such as a ball of four pixels
are what such an encoder drops first, and a replay of the environment no longer gives the recorded observations.

Record again without loss where that is possible: rlds_kit's frames take less room than JPEG on most games. Else say
in the description that the images are lossy.
"""

from collections.abc import Iterable

from rlds_kit.lint.rule import Check, Hit, Severity, rule
from rlds_kit.lint.subject import Subject


@rule("RK401", Severity.WARNING)
class LossySource(Check):
    """Checks the metadata of the dataset."""

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports what was lost before the dataset was made, as its metadata or its format say."""
        for field, what in subject.lossy.items():
            yield Hit(f"lossy at the source: {what}", field=field)
