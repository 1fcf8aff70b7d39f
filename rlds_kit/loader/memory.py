"""Memory for large arrays that are returned to callers, and how much of it is in use."""

import math
from typing import Any, Final

import numpy as np

from rlds_kit.storage.reusable_memory import LARGE_BYTES, ReusableMemory

ALIGNMENT: Final = 64
"""Bytes of a cache line, and of the widest vector registers."""
LENT_BYTES: Final = 256 << 20
"""Limit of the memory in use below which views of arrays may be returned instead of copies. Threads check before they
allocate, so the limit may be slightly exceeded.
"""


_memory = ReusableMemory()
batch_memory: Final = ReusableMemory(large=1 << 17)
"""For large batches, whichever threads read them: the allocator gives memory of threads back to the system, and new
memory costs as much as reading into it. Smaller arrays are left to NumPy: a program may keep many, and the number of
mappings of a process is limited."""


def is_little_lent(share: float = 1.0) -> bool:
    """Whether a view may keep a whole large array alive: less than `LENT_BYTES` of large arrays are in use.

    Args:
      share: of that limit, lower for uses of low priority.

    >>> is_little_lent()
    True
    """
    return _memory.lent_bytes < LENT_BYTES * share


def aligned(_: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An uninitialized aligned array; the path of the leaf is not used.

    >>> aligned("observation", (2, 3), np.dtype(np.float32)).ctypes.data % ALIGNMENT
    0
    """
    size = math.prod(shape) * dtype.itemsize
    if size >= LARGE_BYTES:
        return _memory.array(size).view(dtype).reshape(shape)
    buffer = np.empty(size + ALIGNMENT - 1, np.uint8)
    begin = -buffer.__array_interface__["data"][0] % ALIGNMENT
    return buffer[begin : begin + size].view(dtype).reshape(shape)
