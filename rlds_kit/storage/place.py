"""A position in a file, for error messages."""

from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """Formats the text only when an error needs it, because that costs more than reading a small column.

    >>> f"{Place(Path('episodes.riegeli'), 64)}"
    'episodes.riegeli, chunk at byte 64'
    """

    path: Path
    position: int

    def __str__(self) -> str:
        return f"{self.path}, chunk at byte {self.position}"
