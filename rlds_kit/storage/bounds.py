"""Copies batches whose values are within bounds: called at each step of environments that step together."""

from collections.abc import Callable
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.storage.array_form import is_alike, native


class Bounds(NamedTuple):
    """The form and the bounds of a batch.

    Attributes:
      example: an array with its dtype and shape.
      low: of the same dtype, of the last dimensions of the batch; None: there is no bound.
      high: likewise.
    """

    example: np.ndarray
    low: np.ndarray | None
    high: np.ndarray | None


def copy_inside_in_python(bounds: Bounds, values: object) -> np.ndarray | None:
    """A copy of values that are an array like the example, and within the bounds, which a NaN never is; else None.

    >>> copy_inside_in_python(Bounds(np.array([0, 0]), np.array(0), np.array(2)), np.array([0, 2]))
    array([0, 2])
    """
    example, low, high = bounds
    if type(values) is not np.ndarray or not is_alike(values, example):
        return None
    is_low = low is not None and np.count_nonzero(values >= low) < values.size
    is_high = high is not None and np.count_nonzero(values <= high) < values.size
    return None if is_low or is_high else values.copy()


copy_inside: Final[Callable[[Bounds, object], np.ndarray | None]] = getattr(
    native, "copy_inside", copy_inside_in_python
)
"""`copy_inside_in_python`, in C; None also for arrays that C leaves to NumPy."""
