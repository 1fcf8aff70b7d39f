"""Arrays that TensorFlow takes as they are: it copies those that do not begin at a multiple of 64 bytes."""

import math
from typing import Any, Final

import numpy as np

from rlds_kit.loader.memory import ReusableMemory

ALIGNMENT: Final = 64
"""Bytes: of a cache line, and of the widest registers."""
LARGE_BYTES: Final = 1 << 16
"""Smaller arrays are left to NumPy; larger ones are in memory that is used again."""
LENT_BYTES: Final = 256 << 20
"""As long as less is in use, parts of arrays may be handed out in place of copies of them.

Threads look before they take memory, so a bit more may be.
"""


_memory = ReusableMemory()


def is_little_lent(share: float = 1.0) -> bool:
    """Whether what keeps a part of an array may keep all of it: less than `LENT_BYTES` of large arrays are in use.

    Args:
      share: of that limit, for what may wait better than others.

    >>> is_little_lent()
    True
    """
    return _memory.lent_bytes < LENT_BYTES * share


def aligned(_: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An array with anything in it for the leaf of a path, which plays no part.

    >>> aligned("observation", (2, 3), np.dtype(np.float32)).ctypes.data % ALIGNMENT
    0
    """
    size = math.prod(shape) * dtype.itemsize
    if size >= LARGE_BYTES:
        return _memory.array(size).view(dtype).reshape(shape)
    buffer = np.empty(size + ALIGNMENT - 1, np.uint8)
    begin = -buffer.__array_interface__["data"][0] % ALIGNMENT
    return buffer[begin : begin + size].view(dtype).reshape(shape)
