"""Shrinking images by the mean over areas, bit for bit as `cv2.resize` does with `INTER_AREA`, without OpenCV.

OpenCV sums in float32, first along each row and then over rows, and rounds to the nearest integer (`resizeArea_` in its
`resize.cpp`). The exact mean is a fraction of integers, so the float32 rounding only matters where that fraction is
almost half-way between two integers. All pixels are computed by two small matrix products, and the few ambiguous
ones again in OpenCV's order of operations.
"""

import math
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import tensorflow as tf

_CLOSE: Final = 1 / 256
"""How near to half-way a mean must be to be computed again: far above the rounding of either way."""


@dataclass(frozen=True)
class _Taps:
    """The pixels of a line that are averaged to each pixel of a shorter one, and their weights, in OpenCV's order.

    Attributes:
      index: `[size, K]` int64.
      weight: `[size, K]` float32; 0 where there are fewer than K.
    """

    index: npt.NDArray[np.int64]
    weight: npt.NDArray[np.float32]


def resize_area(images: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Shrinks images.

    Args:
      images: `[N, H, W]` uint8 of known height and width; a channel is an image of its own.
      height: of the result, at most `H`.
      width: of the result, at most `W`.

    Returns:
      `[N, height, width]` uint8.

    Raises:
      ValueError: the images are smaller, or of unknown size.

    >>> resize_area(tf.constant([[[10, 20, 30], [30, 40, 50]]], tf.uint8), 1, 3).numpy().tolist()
    [[[20, 30, 40]]]
    """
    full_height, full_width = images.shape[1:]
    if None in (full_height, full_width) or not (1 <= height <= full_height and 1 <= width <= full_width):
        raise ValueError(
            f"expected images of known size, to be shrunk to height {height} and width {width}; "
            f"they are of height {full_height} and width {full_width}"
        )
    pixels = tf.cast(images, tf.float32)
    mean = _mean(pixels, height, width)
    if full_height % height == 0 and full_width % width == 0:
        return _round_whole_areas(mean, full_height // height, full_width // width)
    down, across = _taps(full_height, height), _taps(full_width, width)
    close = tf.where(tf.abs(mean - tf.floor(mean) - 0.5) < _CLOSE)
    rounded = tf.cast(tf.round(mean), tf.uint8)
    return tf.tensor_scatter_nd_update(rounded, close, _as_opencv(pixels, close, down, across))


def _mean(pixels: tf.Tensor, height: int, width: int) -> tf.Tensor:
    """Means over areas, `[N, height, width]` float32. Weights repeat with a period, so the matrices are small."""
    full_height, full_width = pixels.shape[1:]
    down, across = _period(full_height, height), _period(full_width, width)
    lines = tf.reshape(pixels, [-1, down.shape[1], full_width])
    lines = tf.matmul(down, lines)
    columns = tf.reshape(lines, [-1, across.shape[1]])
    columns = tf.matmul(columns, across, transpose_b=True)
    return tf.reshape(columns, [-1, height, width])


def _period(full: int, size: int) -> npt.NDArray[np.float32]:
    """Weights `[n, m]` of one period, in which m pixels of a line become n."""
    divisor = math.gcd(full, size)
    whole, part = full // divisor, size // divisor
    # The unit of length is 1 / part of a pixel. Then both kinds of pixels begin and end at whole numbers.
    result, pixel = np.arange(part)[:, np.newaxis] * whole, np.arange(whole) * part
    overlap = np.minimum(result + whole, pixel + part) - np.maximum(result, pixel)
    weights: npt.NDArray[np.float32] = (np.maximum(overlap, 0) / whole).astype(np.float32)
    return weights


def _round_whole_areas(mean: tf.Tensor, rows: int, columns: int) -> tf.Tensor:
    """OpenCV's rounding where areas are of whole pixels: it sums integers, and rounds halves up in 2 x 2 pixels."""
    total = tf.round(mean * (rows * columns))
    rounded = tf.floor((total + 2) / 4) if rows == columns == 2 else tf.round(total * np.float32(1 / (rows * columns)))
    return tf.cast(rounded, tf.uint8)


def _taps(full: int, size: int) -> _Taps:
    scale = full / size
    taps: list[list[tuple[int, float]]] = []
    for pixel in range(size):
        start, end = pixel * scale, (pixel + 1) * scale
        length = min(scale, full - start)
        stop = min(math.floor(end), full - 1)
        begin = min(math.ceil(start), stop)
        parts = [(begin - 1, begin - start), *((index, 1.0) for index in range(begin, stop)), (stop, end - stop)]
        taps.append([(index, min(part, 1.0, length) / length) for index, part in parts if part > 1e-3])
    widest = max(map(len, taps))
    padded = np.array([each + [(0, 0.0)] * (widest - len(each)) for each in taps])
    return _Taps(padded[..., 0].astype(np.int64), padded[..., 1].astype(np.float32))


def _as_opencv(pixels: tf.Tensor, at: tf.Tensor, down: _Taps, across: _Taps) -> tf.Tensor:
    """The pixels of the result at `[M, 3]` places, in OpenCV's order of operations; `[M]` uint8."""
    image, row, column = tf.unstack(at, axis=1)
    rows, columns = tf.gather(down.index, row), tf.gather(across.index, column)
    size = tf.shape(tf.zeros_like(rows)[:, :, tf.newaxis] + columns[:, tf.newaxis])
    place = [image[:, tf.newaxis, tf.newaxis], rows[:, :, tf.newaxis], columns[:, tf.newaxis]]
    area = tf.gather_nd(pixels, tf.stack([tf.broadcast_to(each, size) for each in place], -1))
    sums = _sum_in_order(area, tf.gather(across.weight, column)[:, tf.newaxis])
    return tf.cast(tf.round(_sum_in_order(sums, tf.gather(down.weight, row))), tf.uint8)


def _sum_in_order(values: tf.Tensor, weights: tf.Tensor) -> Any:
    """Weighted sum over the last axis, from first to last, each product and sum rounded to float32."""
    products = tf.unstack(values * weights, axis=-1)
    total = products[0]
    for product in products[1:]:
        total += product
    return total
