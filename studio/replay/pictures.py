"""Finds arrays that are pictures, and makes frames that a browser can show.

An array does not define its axes; they are derived from the shape. Four channels are shown as four successive grey
frames, as recordings of agents have them.
"""

from dataclasses import dataclass
from typing import Any, Final

import numpy as np

COLOR_SIDE: Final = 8
"""Minimum height and width, in pixels, of a picture with channels."""
GRAY_SIDE: Final = 16
MOST_FRAMES: Final = 16
CHANNELS: Final = {1, 3}
_WHITE: Final = 255


@dataclass(frozen=True, slots=True)
class Frames:
    """The pictures in an array.

    Attributes:
      pixels: `[frames, height, width]` or `[frames, height, width, 3]`, of the array's dtype.
      low: the value that is shown as black.
      high: the value that is shown as white.
    """

    pixels: np.ndarray
    low: float
    high: float

    @property
    def is_exact(self) -> bool:
        """Whether the shown numbers are exactly the recorded ones."""
        return self.pixels.dtype == np.bool_ or (
            self.pixels.dtype.kind in "iu" and (self.low, self.high) == (0, _WHITE)
        )

    def shown(self, frame: int) -> np.ndarray:
        """`[height, width]` or `[height, width, 3]` uint8.

        Raises:
          IndexError: there is no such frame.
        """
        pixels = self.pixels[frame]
        shown = pixels if pixels.dtype.kind in "iu" and self.is_exact else self._scaled(pixels)
        return np.asarray(shown, np.uint8)

    def _scaled(self, pixels: np.ndarray) -> np.ndarray:
        spread = self.high - self.low or 1.0
        plain = np.nan_to_num(pixels.astype(np.float64), nan=self.low, posinf=self.high, neginf=self.low)
        return np.rint(np.clip((plain - self.low) / spread, 0, 1) * _WHITE)


def frames_of(array: Any) -> Frames | None:
    """The pictures in a value; None if it is not a picture.

    >>> frames_of(np.zeros((84, 84, 4), np.uint8)).pixels.shape
    (4, 84, 84)
    >>> frames_of(np.zeros((3, 64, 64), np.float32)).pixels.shape
    (1, 64, 64, 3)
    """
    if not isinstance(array, np.ndarray) or array.dtype.kind not in "biuf" or not array.size:
        return None
    pixels = _stacked(array)
    return None if pixels is None else Frames(pixels, *_range(pixels))


def _stacked(array: np.ndarray) -> np.ndarray | None:
    """`[frames, height, width(, 3)]`, by shape."""
    match array.shape:
        case (height, width) if min(height, width) >= GRAY_SIDE:
            return array[None]
        case (_, _, _):
            return _three(array)
        case (count, _, _, _) if count <= MOST_FRAMES:
            first = _three(array[0])
            if first is None or len(first) != 1 or CHANNELS.isdisjoint(array.shape[1:]):
                return None
            parts = [part for part in map(_three, array) if part is not None]
            return np.concatenate(parts)
    return None


def _three(array: np.ndarray) -> np.ndarray | None:
    first, second, third = array.shape
    if third in CHANNELS and min(first, second) >= COLOR_SIDE:
        return array[None, :, :, 0] if third == 1 else array[None]
    if first in CHANNELS and min(second, third) >= COLOR_SIDE:
        return array if first == 1 else array.transpose(1, 2, 0)[None]
    if first <= MOST_FRAMES and min(second, third) >= GRAY_SIDE:
        return array
    if third <= MOST_FRAMES and min(first, second) >= GRAY_SIDE:
        return array.transpose(2, 0, 1)
    return None


def _range(pixels: np.ndarray) -> tuple[float, float]:
    if pixels.dtype == np.uint8:
        return 0, _WHITE
    if pixels.dtype == np.bool_:
        return 0, 1
    finite = pixels[np.isfinite(pixels)] if pixels.dtype.kind == "f" else pixels
    low, high = (float(finite.min()), float(finite.max())) if finite.size else (0.0, 0.0)
    if pixels.dtype.kind == "f":
        return (0.0, 1.0) if low >= 0 and high <= 1 else (low, high)
    return (0, _WHITE) if low >= 0 and high <= _WHITE else (low, high)
