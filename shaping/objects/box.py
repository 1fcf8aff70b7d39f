"""Bounding boxes of objects, and the interface of extractors that find them."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

RAM_BYTES = 128
"""Bytes of memory of an Atari 2600."""


class Box(NamedTuple):
    """The bounding box of an object, in pixels of the screen of 160 x 210.

    Attributes:
      slot: identifies the object within an episode.
      category: of the object, such as "Ball".
      x: of the left edge.
      y: of the upper edge.
      width: in pixels.
      height: in pixels.
    """

    slot: int
    category: str
    x: int
    y: int
    width: int
    height: int

    def overlaps(self, other: "Box", margin: int = 0) -> bool:
        """Whether both have a pixel in common, after this one is enlarged by `margin` pixels on every side.

        >>> Box(0, "Player", 10, 10, 4, 4).overlaps(Box(1, "Ball", 14, 10, 2, 2))
        False
        >>> Box(0, "Player", 10, 10, 4, 4).overlaps(Box(1, "Ball", 14, 10, 2, 2), margin=1)
        True
        """
        return (
            self.x - margin < other.x + other.width
            and other.x < self.x + self.width + margin
            and self.y - margin < other.y + other.height
            and other.y < self.y + self.height + margin
        )


class ObjectExtractor(Protocol):
    """Finds objects in the memory of consecutive frames of one episode at a time."""

    def reset(self) -> None:
        """Prepares for the first frame of an episode."""

    def objects(self, ram: NDArray[np.uint8]) -> list[Box]:
        """The objects of the next frame.

        Args:
          ram: `[128]` uint8, the memory after the frame.
        """
