"""Screens of Atari as agents see them: gray, and shrunk by areas, bit for bit as ALE's palette and OpenCV do, in NumPy.

OpenCV sums in float32, first along each row and then over rows, and rounds to the nearest integer (`resizeArea_` in its
`resize.cpp`); so does this, in the same order.
"""

import functools
import math
from typing import Final

import numpy as np
import numpy.typing as npt

Image = npt.NDArray[np.uint8]
_Taps = tuple[tuple[npt.NDArray[np.int64], npt.NDArray[np.float32]], ...]
_LEAST_PART: Final = 1e-3


def gray(frame: Image) -> Image:
    """A frame `[H, W, 3]` in ALE's gray, uint8 `[H, W]`; one that is gray stays as it is.

    >>> gray(np.array([[[255, 0, 0]]], np.uint8)).tolist()
    [[76]]
    """
    if frame.ndim == 2:
        return frame
    red, green, blue = (frame[..., channel].astype(np.uint32) for channel in range(3))
    whole: Image = ((red * 2989 + green * 5870 + blue * 1140 + 5000) // 10_000).astype(np.uint8)
    return whole


def shrink(image: Image, height: int = 84, width: int = 84) -> Image:
    """An image `[H, W]` with fewer pixels, as `cv2.resize` does with `INTER_AREA`.

    Raises:
      ValueError: it is not larger in both directions, or areas are of whole pixels, which OpenCV rounds differently.

    >>> shrink(np.full((210, 160), 7, np.uint8)).shape
    (84, 84)
    """
    full_height, full_width = image.shape
    if not (height < full_height and width < full_width) or (full_height % height == 0 and full_width % width == 0):
        raise ValueError(f"expected an image larger than {height} x {width}, not by whole areas; got {image.shape}")
    lines = _sums(image.astype(np.float32).T, _taps(full_width, width))
    result: Image = np.rint(_sums(lines.T, _taps(full_height, height))).astype(np.uint8)
    return result


def _sums(lines: npt.NDArray[np.float32], taps: _Taps) -> npt.NDArray[np.float32]:
    """Weighted sums of lines, each product and sum rounded to float32, from first to last."""
    (first, weight), *others = taps
    total: npt.NDArray[np.float32] = lines[first] * weight[:, np.newaxis]
    for index, each in others:
        total = total + lines[index] * each[:, np.newaxis]
    return total


@functools.cache
def _taps(full: int, size: int) -> _Taps:
    """Which lines go into each of fewer lines, with which weights, in OpenCV's order."""
    scale = full / size
    taps: list[list[tuple[int, float]]] = []
    for pixel in range(size):
        start, end = pixel * scale, (pixel + 1) * scale
        length = min(scale, full - start)
        stop = min(math.floor(end), full - 1)
        begin = min(math.ceil(start), stop)
        parts = [(begin - 1, begin - start), *((index, 1.0) for index in range(begin, stop)), (stop, end - stop)]
        taps.append([(index, min(part, 1.0, length) / length) for index, part in parts if part > _LEAST_PART])
    widest = max(map(len, taps))
    padded = np.array([each + [(0, 0.0)] * (widest - len(each)) for each in taps])
    return tuple((padded[:, tap, 0].astype(np.int64), padded[:, tap, 1].astype(np.float32)) for tap in range(widest))
