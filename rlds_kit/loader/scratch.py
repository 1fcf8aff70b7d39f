"""Scratch memory of threads."""

import math
import threading
from typing import Any, Final

import numpy as np


class Scratch(threading.local):
    """Arrays that a thread uses for a moment: one for each path of a leaf, reused."""

    def __init__(self) -> None:
        self._bytes: dict[str, np.ndarray] = {}

    def array(self, path: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray:
        """An array with anything in it, valid until the next call with the same path in the same thread.

        >>> scratch.array("observation", (2, 3), np.dtype(np.float32)).shape
        (2, 3)
        """
        size = math.prod(shape) * dtype.itemsize
        if path not in self._bytes or self._bytes[path].size < size:
            self._bytes[path] = np.empty(size, np.uint8)
        return self._bytes[path][:size].view(dtype).reshape(shape)


scratch: Final = Scratch()
