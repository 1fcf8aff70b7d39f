"""The filter PREDICT: lines of images less what is expected of them (`docs/format.md`, "PREDICT").

Noise does not repeat, so no dictionary coder gets at it. What helps is to take away all that is not noise. PNG expects
a pixel to be like its neighbours to the left and above. Here it is expected to be like those above and those of the row
before, the frame before; each line says which, for a camera moves. Nothing depends on the pixel to the left, so a line
is decoded at once.
"""

import functools
import math
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.storage.native import native
from rlds_kit.storage.rows import Rows, Stored

SHIFTS: Final = ((0, 0), (0, -1), (0, 1), (-1, 0), (1, 0), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""By how many lines and pixels the row before is shifted."""
ABOVE: Final = 3 * len(SHIFTS)
"""The mode of the line above alone. Those below it are of three kinds, with the shifts of each."""
MAX_CHANNELS: Final = 16
"""A last dimension that is longer is one of pixels, not of channels."""


class Lines(NamedTuple):
    """How a row is made up of lines.

    Attributes:
      height: lines of a row.
      width: bytes of a line.
      pixel: bytes of a pixel.
    """

    height: int
    width: int
    pixel: int


@functools.lru_cache(maxsize=256)  # asked for each column
def lines_of(shape: tuple[int, ...]) -> Lines:
    """The lines of a value of one-byte elements; `shape` has no 0.

    >>> lines_of((210, 160, 3)), lines_of((84, 84)), lines_of((128,))
    (Lines(height=210, width=480, pixel=3), Lines(height=84, width=84, pixel=1), Lines(height=1, width=128, pixel=1))
    """
    has_channels = len(shape) > 2 and shape[-1] <= MAX_CHANNELS
    width = math.prod(shape[-2:] if has_channels else shape[-1:])
    return Lines(math.prod(shape) // width, width, shape[-1] if has_channels else 1)


def predict(rows: Rows, shape: tuple[int, ...]) -> Stored:
    """A mode for each line, then what is left of the rows.

    The first row has none before it, and its first line none above it: zeros stand for these.

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
    """What came closest to each line so far. Among equals the first stays."""

    def __init__(self, images: np.ndarray) -> None:
        self._images = images.astype(np.int16)
        self._distance = np.full(images.shape[:2], np.iinfo(np.int64).max)
        self.mode = np.zeros(images.shape[:2], np.int64)
        self.expected, self.below = np.zeros_like(images), np.zeros_like(images)

    def offer(self, mode: int | np.ndarray, expected: np.ndarray, below: np.ndarray | None = None) -> None:
        """Takes lines that are closer, with their mode and the lines below them."""
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
      left: what was left of the rows.
      shape: of a value.
      out: where the rows go, which may be where `left` is.

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
    """What a mode expects of line `y`, from the line above and the row before, `[lines, width]`."""
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
    """The rows before, `[n, lines, width]`, shifted; and the lines below these."""
    last = before.shape[1] - 1
    numbers = np.clip(np.arange(last + 1) + shift[0], 0, last)
    return _moved(before[:, numbers], shift[1], pixel), _moved(
        before[:, np.minimum(numbers + 1, last)], shift[1], pixel
    )


def _moved(lines: np.ndarray, along: int, pixel: int) -> np.ndarray:
    """The pixels `along` further on; beyond the ends of a line, its last pixel."""
    if along == 0:
        return lines
    moved = np.empty_like(lines)
    if along < 0:
        moved[..., :pixel], moved[..., pixel:] = lines[..., :pixel], lines[..., :-pixel]
    else:
        moved[..., :-pixel], moved[..., -pixel:] = lines[..., pixel:], lines[..., -pixel:]
    return moved


def _mean(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Rounded up."""
    mean: np.ndarray = ((a.astype(np.uint16) + b + 1) >> 1).astype(np.uint8)
    return mean
