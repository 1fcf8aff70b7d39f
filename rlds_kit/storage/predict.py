"""The filter PREDICT: lines of images minus their prediction (`docs/format.md`, "PREDICT").

Noise does not repeat, so dictionary coders cannot compress it. It helps to subtract everything that is not noise. PNG
predicts a pixel from its neighbours to the left and above. Here it is predicted from those above and those of the
previous row, which is the previous frame; each line has its own mode, because a camera moves. Nothing depends on the
pixel to the left, so a whole line can be decoded with vector instructions.
"""

import functools
import math
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.storage.native import native
from rlds_kit.storage.rows import Rows, Stored

SHIFTS: Final = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""The shifts of the previous row, in lines and pixels."""
ABOVE: Final = 3 * len(SHIFTS)
"""The mode that uses only the line above. The modes below it are of three kinds, each with all shifts."""
MAX_CHANNELS: Final = 16
"""A longer last dimension consists of pixels, not of channels."""


class Lines(NamedTuple):
    """The layout of a row as lines.

    Attributes:
      height: lines of a row.
      width: bytes of a line.
      pixel: bytes of a pixel.
    """

    height: int
    width: int
    pixel: int


@functools.lru_cache(maxsize=256)  # called for each column
def lines_of(shape: tuple[int, ...]) -> Lines:
    """The lines of a value of one-byte elements; `shape` has no 0.

    >>> lines_of((210, 160, 3)), lines_of((84, 84)), lines_of((128,))
    (Lines(height=210, width=480, pixel=3), Lines(height=84, width=84, pixel=1), Lines(height=1, width=128, pixel=1))
    """
    has_channels = len(shape) > 2 and shape[-1] <= MAX_CHANNELS
    width = math.prod(shape[-2:] if has_channels else shape[-1:])
    return Lines(math.prod(shape) // width, width, shape[-1] if has_channels else 1)


def predict(rows: Rows, shape: tuple[int, ...]) -> Stored:
    """Encodes rows: a mode for each line, then the residuals.

    The first row has no previous row, and a first line has no line above: zeros are used instead.

    >>> predict(np.array([[10, 20], [10, 21]], np.uint8), (2,)).tolist()
    [0, 0, 10, 20, 0, 1]
    """
    if native is None:
        return predict_twin(rows, shape)
    stored = native.predict(np.ascontiguousarray(rows), len(rows), *lines_of(shape))
    return np.frombuffer(stored, np.uint8)


def predict_twin(rows: Rows, shape: tuple[int, ...]) -> Stored:
    """`predict` in NumPy."""
    lines = lines_of(shape)
    images = rows.reshape(len(rows), lines.height, lines.width)
    before, above = np.zeros_like(images), np.zeros_like(images)
    before[1:], above[:, 1:] = images[:-1], images[:, :-1]
    closest = _Closest(images)
    for number, shift in enumerate(SHIFTS):
        closest.offer(number, *_shifted(before, shift, lines.pixel))
    best, same, below = closest.mode.copy(), closest.expected.copy(), closest.below
    closest.offer(best + len(SHIFTS), _mean(above, same))
    closest.offer(best + 2 * len(SHIFTS), _mean(_mean(above, below), same))
    closest.offer(ABOVE, above)
    return np.concatenate((closest.mode.astype(np.uint8).reshape(-1), (images - closest.expected).reshape(-1)))


class _Closest:
    """The best prediction of each line so far. Among equals the first is used."""

    def __init__(self, images: np.ndarray) -> None:
        self._images = images.astype(np.int16)
        self._distance = np.full(images.shape[:2], np.iinfo(np.int64).max)
        self.mode = np.zeros(images.shape[:2], np.int64)
        self.expected, self.below = np.zeros_like(images), np.zeros_like(images)

    def offer(self, mode: int | np.ndarray, expected: np.ndarray, below: np.ndarray | None = None) -> None:
        """Replaces predictions that are worse, with their mode and the lines below them."""
        distance = np.abs(self._images - expected).sum(axis=2, dtype=np.int64)
        closer = distance < self._distance
        self._distance[closer] = distance[closer]
        self.mode[closer] = mode if isinstance(mode, int) else mode[closer]
        self.expected[closer] = expected[closer]
        if below is not None:
            self.below[closer] = below[closer]


def unpredict(modes: np.ndarray, left: Rows, shape: tuple[int, ...], out: Rows) -> None:
    """The inverse of `predict`.

    Args:
      modes: uint8, one a line.
      left: the residuals.
      shape: of a value.
      out: for the rows; may be the same memory as `left`.

    Raises:
      ValueError: there is no such mode, or there are too few or too many.
    """
    if native is not None and out.flags.c_contiguous and out.size:
        native.unpredict(np.ascontiguousarray(modes), np.ascontiguousarray(left), out, len(out), *lines_of(shape))
    else:
        unpredict_twin(modes, left, shape, out)


def unpredict_twin(modes: np.ndarray, left: Rows, shape: tuple[int, ...], out: Rows) -> None:
    """`unpredict` in NumPy."""
    lines = lines_of(shape)
    if modes.size != len(out) * lines.height or (modes > ABOVE).any():
        raise ValueError("a line is predicted in a way that does not exist, or not every line is")
    images = out.reshape(len(out), lines.height, lines.width)
    before = nothing = np.zeros(images.shape[1:], np.uint8)
    for image, rest, chosen in zip(images, left.reshape(images.shape), modes.reshape(images.shape[:2]), strict=True):
        above = nothing[0]
        for y, mode in enumerate(chosen.tolist()):
            np.add(rest[y], _expected(mode, y, above, before, lines.pixel), out=image[y])
            above = image[y]
        before = image


def _expected(mode: int, y: int, above: np.ndarray, before: np.ndarray, pixel: int) -> np.ndarray:
    """The prediction of line `y` by a mode, from the line above and the previous row, `[lines, width]`."""
    if mode == ABOVE:
        return above
    kind, number = divmod(mode, len(SHIFTS))
    down, along = SHIFTS[number]
    at = min(max(y + down, 0), len(before) - 1)
    same = _moved(before[at], along, pixel)
    if kind == 0:
        return same
    if kind == 1:
        return _mean(above, same)
    return _mean(_mean(above, _moved(before[min(at + 1, len(before) - 1)], along, pixel)), same)


def _shifted(before: np.ndarray, shift: tuple[int, int], pixel: int) -> tuple[np.ndarray, np.ndarray]:
    """The previous rows, `[n, lines, width]`, shifted; and the lines below these."""
    last = before.shape[1] - 1
    numbers = np.clip(np.arange(last + 1) + shift[0], 0, last)
    return _moved(before[:, numbers], shift[1], pixel), _moved(
        before[:, np.minimum(numbers + 1, last)], shift[1], pixel
    )


def _moved(lines: np.ndarray, along: int, pixel: int) -> np.ndarray:
    """Shifts pixels by `along`; beyond the ends of a line, its last pixel is repeated."""
    if along == 0:
        return lines
    moved = np.empty_like(lines)
    if along < 0:
        moved[..., :pixel], moved[..., pixel:] = lines[..., :pixel], lines[..., :-pixel]
    else:
        moved[..., :-pixel], moved[..., -pixel:] = lines[..., pixel:], lines[..., -pixel:]
    return moved


def _mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The mean, rounded up."""
    mean: np.ndarray = ((a.astype(np.uint16) + b + 1) >> 1).astype(np.uint8)
    return mean
