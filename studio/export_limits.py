"""How many exports a person may have, and for how long."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ExportLimits:
    """Limits for each person.

    Attributes:
      waiting: exports that have not ended.
      stored: all exports, ended ones included; each takes as much of the disk as its episodes.
      days: after which an ended export is deleted.
    """

    waiting: int = 20
    stored: int = 50
    days: float = 30.0
