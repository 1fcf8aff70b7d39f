"""Splits numbers near zero into bits of noise and other bits (`docs/format.md`, "PREDICT_SPLIT").

The residuals of a predicted image are noise around zero. The lowest bits of noise are practically random, so a
compressor of whole bytes spends most of its time on incompressible bits. Here those bits are stored separately. Of the
bits above them, two of each number are stored, four numbers to a byte: these are compressible. The few numbers with
more bits are exceptions.
"""

from typing import Any, Final, TypeAlias

import numpy as np

from rlds_kit.storage.native import native

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.uint8]]
"""Bytes that represent -128 to 127."""

MOST_NOISE: Final = 6
"""Maximum bits of noise: two bits are used for the others."""
FEW: Final = 8
"""At most one of this many numbers is an exception."""
_LONG_GAP: Final = 255
"""A gap of this many numbers without an exception after it."""
_EXCEPTION_BITS: Final = 10
"""Approximate bits of an exception."""
_SAMPLE: Final = 4096
"""Size of the sample of numbers, or up to six times as many."""

_IS_HIGH: Final = ((np.arange(256)[:, None] >> np.arange(MOST_NOISE + 1))[..., None] == np.arange(4)).astype(np.float64)
"""`[number, noise, h]`: 1 where the bits of a number above the noise are `h`."""


def split(left: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Splits the bits of numbers.

    Returns:
      The number of bits of noise, and the exceptions; the two bits above the noise; the noise.

    >>> exceptions, high, noise = split(np.array([255, 0, 1, 2, 3, 4, 5, 6] * 8, np.uint8))
    >>> exceptions.tolist(), high.size, noise.size
    ([2, 64], 16, 16)
    """
    least = noise_of(left)
    stored = split_twin(left, least) if native is None else np.frombuffer(native.split(left, least), np.uint8)
    length, noise = _length(left.size), int(stored[0])
    exceptions, high, low = np.split(stored, [stored.size - (noise + 2) * length, stored.size - noise * length])
    return exceptions, high, low


def at_most(count: int) -> int:
    """Maximum bytes of the result of `split` for this many numbers."""
    return 2 + 2 * (count // FEW) + count // _LONG_GAP + 8 * _length(count)


def noise_of(left: Numbers) -> int:
    """Estimates the best number of noise bits from a sample of the numbers."""
    step = 6 * (left.size // (6 * _SAMPLE)) + 1  # not a multiple of 2 or 3: samples all channels
    numbers = _zigzag(left[::step])
    shares = np.bincount(numbers, minlength=256) / max(1, numbers.size)
    high = np.tensordot(shares, _IS_HIGH, 1)
    entropy = -(high * np.log2(np.maximum(high, 1e-9))).sum(1)
    return int(np.argmin(np.arange(MOST_NOISE + 1) + entropy + _EXCEPTION_BITS * (1 - high.sum(1))))


def split_twin(left: Numbers, noise: int) -> Numbers:
    """`split` in NumPy, with `noise` bits of noise, or more if there would be many exceptions."""
    numbers = _zigzag(left)
    while noise < MOST_NOISE and np.count_nonzero(numbers >= 4 << noise) > left.size // FEW:
        noise += 1
    above = numbers >> (noise + 2)
    places = np.flatnonzero(above)
    gaps = np.diff(places, prepend=-1, append=left.size) - 1
    ends = np.cumsum(gaps // _LONG_GAP + 1)
    stored = np.full(ends[-1], _LONG_GAP)
    stored[ends - 1] = gaps % _LONG_GAP
    widths = [width for width in (4, 2, 1) if noise & width]
    fields = [_field(numbers >> noise, 2), *(_field(numbers >> (noise & -2 * width), width) for width in widths)]
    return np.concatenate(([noise], stored, above[places], *fields)).astype(np.uint8)


def unsplit(stored: Numbers, total: int, left: Numbers) -> None:
    """The inverse of `split`, in NumPy; in C it is done image by image, together with the inverse of `predict`.

    Args:
      stored: its parts, one after the other.
      total: number of encoded numbers.
      left: where the first of them go.

    Raises:
      ValueError: `stored` is not the encoding of `total` numbers.
    """
    noise, length = int(stored[0]) if stored.size else MOST_NOISE + 1, _length(total)
    at = stored.size - (noise + 2) * length
    if noise > MOST_NOISE or at < 1:
        raise ValueError("the fields do not fit together")
    places, above = _exceptions(stored[1:at], total)
    if ((above == 0) | (above >= 256 >> noise + 2)).any():
        raise ValueError("an exception is none, or too large")
    numbers = _numbers(stored[at:], 2, length) << noise
    at += 2 * length
    for width in (4, 2, 1):
        if noise & width:
            numbers |= _numbers(stored[at:], width, length) << (noise & -2 * width)
            at += width * length
    numbers[places] |= above << noise + 2
    left[...] = _unzigzag(numbers[: left.size])


def _exceptions(stored: Numbers, total: int) -> tuple[np.ndarray, Numbers]:
    """The positions of exceptions, and their bits above the others."""
    ends = np.cumsum(stored, dtype=np.int64) + np.cumsum(stored != _LONG_GAP) - 1
    last = np.flatnonzero((ends >= total) & (stored != _LONG_GAP))
    if not last.size or ends[last[0]] != total:
        raise ValueError("the gaps between exceptions do not end where the numbers end")
    is_gap = stored[: last[0]] != _LONG_GAP
    above = stored[last[0] + 1 :]
    if np.count_nonzero(is_gap) != above.size:
        raise ValueError("there are more exceptions, or fewer, than gaps")
    return ends[: last[0]][is_gap], above


def _length(total: int) -> int:
    """The length of a stretch: there are eight stretches, and each byte of a field has bits of several."""
    return -(-total // 8)


def _field(numbers: np.ndarray, width: int) -> np.ndarray:
    """The lowest bits of numbers: those of stretches `s`, `s + width`, ... share bytes."""
    length = _length(numbers.size)
    stretches = np.zeros((8 // width, width * length), np.uint8)
    stretches.reshape(-1)[: numbers.size] = numbers & ((1 << width) - 1)
    field: np.ndarray = np.bitwise_or.reduce(stretches << _shifts(width), axis=0)
    return field


def _numbers(field: np.ndarray, width: int, length: int) -> np.ndarray:
    """The inverse of `_field`, including the padding of the last bytes."""
    numbers: np.ndarray = (field[: width * length] >> _shifts(width)) & np.uint8((1 << width) - 1)
    return numbers.reshape(-1)


def _shifts(width: int) -> np.ndarray:
    return np.arange(0, 8, width).astype(np.uint8)[:, None]


def _zigzag(left: np.ndarray) -> np.ndarray:
    """0, -1, 1, -2, 2, ... become 0, 1, 2, 3, 4, ..."""
    zigzag: np.ndarray = (left << 1) ^ -(left >> 7)
    return zigzag


def _unzigzag(numbers: np.ndarray) -> np.ndarray:
    left: np.ndarray = (numbers >> 1) ^ -(numbers & 1)
    return left
