"""Where episodes end in the rows of a log."""

from collections.abc import Callable
from typing import Final

import numpy as np

from rlds_kit.storage.array_form import native


def ends_of_in_python(ends: np.ndarray, count: int) -> tuple[list[int], list[int], list[int]]:
    """Where the first rows of an array `[rows, lanes]` uint8 are not zero: rows, ascending, lanes, and values.

    NumPy gives up the interpreter's lock in each of these calls, and the thread that plays may keep it for long.

    >>> ends_of_in_python(np.array([[0, 2], [1, 3], [1, 1]], np.uint8), 2)
    ([0, 1, 1], [1, 0, 1], [2, 1, 3])
    """
    rows, lanes = ends[:count].nonzero()
    return rows.tolist(), lanes.tolist(), ends[rows, lanes].tolist()


ends_of: Final[Callable[[np.ndarray, int], tuple[list[int], list[int], list[int]]]] = getattr(
    native, "ends_of", ends_of_in_python
)
