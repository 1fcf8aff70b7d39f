"""The aliens of Space Invaders, from the console's memory.

Memory 0x12 to 0x17 has six rows of aliens, the lowest first, one bit for each column, the leftmost first; 0x11 counts
them. When the leftmost columns are empty the game moves every row down by so many bits, and the formation's place 0x1A
grows by 16 for each: without care these are counted as hits. A `Formation` undoes it.
"""

from dataclasses import dataclass
from typing import Final

from rlds_kit.crowd.collectors.moment import Ram

ROWS: Final = 6
COLUMNS: Final = 6
_COUNT, _FIRST_ROW, _PLACE, _COLUMN_WIDTH = 0x11, 0x12, 0x1A, 16
Bitmap = tuple[int, ...]
"""Six rows, the lowest first; bit j is column j from the left."""


@dataclass(frozen=True, slots=True, order=True)
class Alien:
    """A place in the formation as it was when its wave began.

    Attributes:
      row: 0 to 5, from the lowest.
      column: 0 to 5, from the left.

    >>> Alien(2, 0).points
    15
    """

    row: int
    column: int

    @property
    def points(self) -> int:
        """What the game gives for it."""
        return 5 * (self.row + 1)


class Formation:
    """The aliens that are left, at the places that they had when their wave began.

    Attributes:
      bitmap: who is left.
    """

    def __init__(self) -> None:
        self.bitmap: Bitmap = ()
        self._shift = self._count = self._place = 0

    def update(self, ram: Ram) -> tuple[Alien, ...]:
        """Takes the next memory, uint8 `[128]`, and returns the aliens that were hit since the previous one.

        With the first memory, and when a new wave begins, there are none.
        """
        rows = tuple(int(ram[_FIRST_ROW + row]) for row in range(ROWS))
        count, place = int(ram[_COUNT]), int(ram[_PLACE])
        before, fewer = self.bitmap, self._count - count
        shift = self._shift_of(rows, place, fewer) if before and fewer >= 0 else None
        self._shift, self._count, self._place = shift or 0, count, place
        self.bitmap = tuple(row << self._shift for row in rows)
        return () if shift is None else _gone(before, self.bitmap)

    def _shift_of(self, rows: Bitmap, place: int, fewer: int) -> int | None:
        """By how many bits rows are shifted: by place, else whatever explains the count; None if it is another wave."""
        moved = max(0, (place - self._place + _COLUMN_WIDTH // 2) // _COLUMN_WIDTH)
        candidates: list[int] = [self._shift + moved, *range(self._shift, COLUMNS)]
        for shift in candidates:
            shifted = tuple(row << shift for row in rows)
            is_part = all(now & ~then == 0 for now, then in zip(shifted, self.bitmap, strict=True))
            if is_part and len(_gone(self.bitmap, shifted)) == fewer:
                return shift
        return None

    def column_is_empty(self, column: int) -> bool:
        """Whether nothing is left of a column."""
        return not any(row >> column & 1 for row in self.bitmap)

    def row_is_empty(self, row: int) -> bool:
        """Whether nothing is left of a row."""
        return not self.bitmap[row]


def _gone(before: Bitmap, after: Bitmap) -> tuple[Alien, ...]:
    return tuple(
        Alien(row, column)
        for row, (then, now) in enumerate(zip(before, after, strict=True))
        for column in range(COLUMNS)
        if (then & ~now) >> column & 1
    )


def own_hits(hits: tuple[Alien, ...], reward: float) -> tuple[Alien, ...]:
    """The hits that a participant's reward is for: all that it pays for, or all where it does not tell them apart.

    In a game of two a reward of 0 is for none.

    >>> own_hits((Alien(0, 1), Alien(3, 2)), 20.0)
    (Alien(row=3, column=2),)
    >>> own_hits((Alien(0, 1),), 0.0)
    ()
    """
    if reward <= 0:
        return ()
    if sum(each.points for each in hits) == reward:
        return hits
    one = tuple(each for each in hits if each.points == reward)
    return one[:1] if len(hits) > 1 and one else hits
