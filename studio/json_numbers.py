"""Numbers as JSON: as numbers where a browser represents them exactly, else as text."""

import math
from typing import Any, Final

import numpy as np

EXACT_IN_BROWSERS: Final = 2**53
_DECIMAL_BITS: Final = 10_000
"""Maximum bits of a decimal number: Python takes too long to convert longer ones."""


def number(value: Any) -> Any:  # JSON
    """A Python number as JSON.

    >>> number(3), number(2**60), number(float("nan")), number(-0.0), number(1 + 2j)
    (3, '1152921504606846976', 'nan', '-0.0', '(1+2j)')
    """
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if abs(value) <= EXACT_IN_BROWSERS:
            return value
        return str(value) if value.bit_length() <= _DECIMAL_BITS else hex(value)
    if isinstance(value, float):
        is_plain = math.isfinite(value) and (value != 0 or math.copysign(1, value) > 0)
        return value if is_plain else str(value)
    return value if isinstance(value, str) else str(value)


def numbers(array: np.ndarray) -> Any:  # JSON
    """An array as nested lists of `number`.

    >>> numbers(np.array([[1.5, np.inf]], np.float32))
    [[1.5, 'inf']]
    """
    plain = array.astype(np.float64) if array.dtype.name == "bfloat16" else array
    if plain.dtype.kind == "b" or (plain.dtype.kind in "iu" and plain.dtype.itemsize <= 4):
        return plain.tolist()
    return _each(plain.tolist())


def _each(items: Any) -> Any:
    return [_each(item) for item in items] if isinstance(items, list) else number(items)
