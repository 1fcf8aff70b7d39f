"""How many exports somebody may have, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """For each person.

    Attributes:
      waiting: exports that are not over.
      stored: exports, also those that are over; each takes as much of the disk as its episodes.
      days: after which one that is over is deleted.
    """

    waiting: int = 20
    stored: int = 50
    days: float = 30.0
