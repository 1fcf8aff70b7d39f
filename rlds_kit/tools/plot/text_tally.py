"""Counts texts: which are the most frequent."""

from collections import Counter
from collections.abc import Iterable
from typing import Final

DISTINCT: Final = 10_000
"""The number of texts that are counted separately; later ones count as others."""
PREFIX: Final = 80
"""Texts that begin with the same characters, this many, count as one."""


class TextTally:
    """Counts how often each text occurs, in bounded memory.

    Attributes:
      counts: by text, or by its beginning.
      others: the count of later texts.

    >>> tally = TextTally()
    >>> tally.add(["left", "right", "left"])
    >>> tally.counts["left"], tally.others
    (2, 0)
    """

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()
        self.others = 0

    def add(self, texts: Iterable[str]) -> None:
        """Counts texts."""
        for text in texts:
            beginning = text if len(text) <= PREFIX else text[: PREFIX - 1] + "…"
            if beginning in self.counts or len(self.counts) < DISTINCT:
                self.counts[beginning] += 1
            else:
                self.others += 1
