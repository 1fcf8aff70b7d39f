"""Sizes that codecs for numbers would have, computed with NumPy: ALP, Gorilla, and differences of differences.

ALP (Afroozeh, Kuffo and Boncz, 2023) stores numbers that are decimals as integers, and of others the upper bits by a
dictionary; Gorilla (Pelkonen and others, 2015) stores the bits that differ from the number before. Columns of vectors
are taken apart into numbers first. Only sizes: nothing is decoded.
"""

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from rlds_kit.storage.compression import FAST_LEVEL, compress

_EXCEPTION_BITS: Final = 16
"""The place of an exception."""
_HEADER_BITS: Final = 2 * 8 + 8 + 64
_DICTIONARY: Final = 8
"""Upper parts of numbers that ALP keeps for a column."""


def sizes() -> dict[str, Callable[[np.ndarray], float]]:
    """Functions from a block, `[rows, numbers]`, to its bytes."""
    return {
        "ALP (size only)": lambda block: _each_number(_alp, block),
        "Gorilla (size only)": lambda block: _each_number(_gorilla, block),
        "delta of delta, zigzag, zstd 3, each plane (size only)": _second_differences,
    }


def _each_number(bits: Callable[[np.ndarray], float], block: np.ndarray) -> float:
    return sum(min(bits(numbers), 8 * numbers.nbytes) for numbers in np.ascontiguousarray(block.T)) / 8


def _alp(numbers: np.ndarray) -> float:
    decimals = [_as_decimals(numbers, up, down) for up in range(17) for down in range(up + 1)]
    return min(*decimals, _by_dictionary(numbers)) + _HEADER_BITS


def _as_decimals(numbers: np.ndarray, up: int, down: int) -> float:
    """Bits as integers: the number times ten to the power `up`, divided by ten to the power `down`."""
    kind = numbers.dtype.type
    with np.errstate(all="ignore"):
        scaled = np.rint(numbers * kind(10.0**up) * kind(10.0**-down))
        is_exact = (np.abs(scaled) < 2**52) & (_bits(scaled * kind(10.0**down) * kind(10.0**-up)) == _bits(numbers))
    if not is_exact.any():
        return np.inf
    width = int(np.ptp(scaled[is_exact])).bit_length()
    return width * numbers.size + np.count_nonzero(~is_exact) * (8.0 * numbers.itemsize + _EXCEPTION_BITS)


def _by_dictionary(numbers: np.ndarray) -> float:
    """Bits with the lower bits as they are, and for the upper bits, at most 16, a number in a dictionary."""
    found, all_bits = np.inf, 8 * numbers.itemsize
    for upper in range(1, 17):
        parts = _bits(numbers) >> _bits(numbers).dtype.type(all_bits - upper)
        counts = np.sort(np.unique(parts, return_counts=True)[1])
        exceptions = counts[:-_DICTIONARY].sum() * 2 * _EXCEPTION_BITS
        index = (min(len(counts), _DICTIONARY) - 1).bit_length()
        found = min(found, (all_bits - upper + index) * numbers.size + exceptions)
    return found + _DICTIONARY * 16


def _gorilla(numbers: np.ndarray) -> float:
    """Bits: one if the number is that before, else two, the window of the bits that differ if it is new, and these."""
    all_bits, lead, tail = 8 * numbers.itemsize, -1, 0
    size = all_bits
    for differ in (_bits(numbers)[1:] ^ _bits(numbers)[:-1]).tolist():
        if not differ:
            size += 1
            continue
        leading, trailing = min(all_bits - differ.bit_length(), 31), (differ & -differ).bit_length() - 1
        if lead >= 0 and leading >= lead and trailing >= tail:
            size += 2 + all_bits - lead - tail
        else:
            lead, tail = leading, trailing
            size += 2 + 5 + 6 + all_bits - lead - tail
    return size


def _second_differences(block: np.ndarray) -> float:
    """Byte planes of the differences of the differences of the bits, as integers whose sign is their lowest bit."""
    numbers = _bits(block)
    for _ in range(2):
        numbers = np.concatenate((numbers[:1], numbers[1:] - numbers[:-1]))
    signed = numbers.view(f"i{block.itemsize}")
    zigzag = (signed << 1) ^ (signed >> (8 * block.itemsize - 1))
    planes = np.ascontiguousarray(zigzag.reshape(-1).view(np.uint8).reshape(-1, block.itemsize).T)
    return min(len(compress([plane.data for plane in planes], FAST_LEVEL)), block.nbytes)


def _bits(numbers: np.ndarray) -> np.ndarray[Any, Any]:
    return numbers.view(f"u{numbers.itemsize}")
