"""Byte strings of one length as the rows of an array."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.storage.reusable_memory import field_memory

_SMALL: Final = 1 << 12
"""Shorter strings are faster joined than copied one by one."""


def byte_rows(strings: Iterable[bytes], count: int, size: int) -> np.ndarray:
    """Copies byte strings; long ones into memory that is reused, as new memory for each episode takes more time.

    Args:
      strings: that many, which may be made one by one.
      count: of them.
      size: of each, not 0.

    Returns:
      `[count, size]` uint8.

    Raises:
      ValueError: one has another size.

    >>> byte_rows([b"ab", b"cd"], 2, 2).tolist()
    [[97, 98], [99, 100]]
    """
    if size < _SMALL:
        joined = list(strings)
        if wrong := set(map(len, joined)) - {size}:
            raise _wrong(size, min(wrong))
        return np.frombuffer(b"".join(joined), np.uint8).reshape(count, size)
    rows: np.ndarray | None = None
    for number, each in enumerate(strings):
        if len(each) != size:
            raise _wrong(size, len(each))
        if rows is None:  # no memory for a size that no string has
            rows = field_memory.empty((count, size), np.dtype(np.uint8))
        rows[number] = memoryview(each)
    return np.empty((0, size), np.uint8) if rows is None else rows


def _wrong(size: int, other: int) -> ValueError:
    return ValueError(f"expected {size} bytes in each value, got {other}")
