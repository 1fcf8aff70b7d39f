"""Finds paddle and ball of Breakout without the bricks, for which OCAtari takes 20 times as long."""

import numpy as np
from numpy.typing import NDArray

from rlds_kit.shaping.objects.box import Box


class PaddleAndBall:
    """Finds paddle and ball at the same positions as OCAtari, with the same slots and categories.

    >>> memory = np.zeros(128, np.uint8)
    >>> memory[[72, 99, 101]] = 100, 120, 80
    >>> for box in PaddleAndBall().objects(memory):
    ...     print(box)
    Box(slot=0, category='Player', x=53, y=189, width=16, height=4)
    Box(slot=1, category='Ball', x=71, y=89, width=2, height=4)
    """

    game = "Breakout"

    def reset(self) -> None:
        """Does nothing: each frame is independent of the others."""

    def objects(self, ram: NDArray[np.uint8]) -> list[Box]:
        """The paddle, and the ball if there is one.

        Args:
          ram: `[128]` uint8.
        """
        paddle, x, y = int(ram[72]), int(ram[99]), int(ram[101])
        found = [Box(0, "Player", paddle - 47, 189, 16, 4)]
        return [*found, Box(1, "Ball", x - 49, y + 9, 2, 4)] if 0 < y <= 187 else found
