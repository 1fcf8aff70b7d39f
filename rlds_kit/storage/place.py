"""Where in which file something stands, for errors."""

from pathlib import Path
from typing import NamedTuple


class Place(NamedTuple):
    """Becomes text only when an error needs it: making the text costs more than reading a small column.

    >>> f"{Place(Path('episodes.riegeli'), 64)}"
    'episodes.riegeli, chunk at byte 64'
    """

    path: Path
    position: int

    def __str__(self) -> str:
        return f"{self.path}, chunk at byte {self.position}"
