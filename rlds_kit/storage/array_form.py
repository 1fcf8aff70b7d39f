"""Compares dtype and shape of arrays, and copies one into a row of another: called for every array of every row.

The C extension does this in a fraction of the time; see `_rows.c`.
"""

from collections.abc import Callable
from typing import Final

import numpy as np

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.storage", "_rows")


def example_of(array: np.ndarray) -> np.ndarray:
    """An array of the same dtype and shape that needs almost no memory.

    >>> example_of(np.zeros((210, 160, 3), np.uint8)).shape
    (210, 160, 3)
    """
    return np.ndarray(array.shape, array.dtype, bytes(max(1, array.itemsize)), strides=(0,) * array.ndim)


def is_alike_in_python(array: np.ndarray, example: np.ndarray) -> bool:
    """Whether an array has the dtype and the shape of an example.

    >>> is_alike_in_python(np.zeros(3), np.ones(3)), is_alike_in_python(np.zeros(3), np.zeros(3, np.float32))
    (True, False)
    """
    return array.shape == example.shape and array.dtype == example.dtype


def any_true_in_python(flags: np.ndarray) -> bool:
    """Whether one of an array of flags is true. NumPy's functions call Python code, which takes longer.

    >>> any_true_in_python(np.array([False, True])), any_true_in_python(np.array([False, False]))
    (True, False)
    """
    return bool(np.count_nonzero(flags))


def both_true_in_python(flags: np.ndarray, others: np.ndarray) -> bool:
    """Whether two arrays of flags have one in the same place that is true in both.

    >>> both_true_in_python(np.array([False, True]), np.array([True, False]))
    False
    """
    return any_true_in_python(flags & others)


def add_flags_in_python(counts: np.ndarray, flags: np.ndarray) -> np.ndarray:
    """Counts that are one more where a flag is true, both `[n]`, int64 and bool.

    NumPy takes several times as long: between two steps, its code leaves the processor's caches.

    >>> add_flags_in_python(np.array([1, 2]), np.array([False, True])).tolist()
    [1, 3]
    """
    found: np.ndarray = counts + flags.astype(np.int64)  # of one type: else NumPy converts them in large buffers
    return found


def put_row_in_python(rows: np.ndarray, row: int, array: np.ndarray) -> bool:
    """Copies an array into a row, if dtype and shape match and the row exists; returns whether it did.

    >>> rows = np.zeros((2, 3))
    >>> put_row_in_python(rows, 1, np.ones(3)), put_row_in_python(rows, 2, np.ones(3)), rows[1]
    (True, False, array([1., 1., 1.]))
    """
    if not 0 <= row < len(rows) or array.shape != rows.shape[1:] or array.dtype != rows.dtype:
        return False
    rows[row] = array
    return True


def put_lanes_in_python(rows: np.ndarray, places: np.ndarray, lanes: np.ndarray | None, values: np.ndarray) -> bool:
    """Copies values of lanes into the rows `[capacity, lanes, ...]`, if dtypes and shapes match and the rows exist.

    Args:
      rows: to write into.
      places: `[lanes]` int64, the row of each lane.
      lanes: int64 numbers of those that are copied; None: all.
      values: `[lanes, ...]`, of all lanes.

    Returns:
      Whether it did.

    >>> rows = np.zeros((2, 3))
    >>> put_lanes_in_python(rows, np.array([0, 1, 1]), np.array([0, 2]), np.array([1.0, 2.0, 3.0])), rows
    (True, array([[1., 0., 0.],
           [0., 0., 3.]]))
    """
    if values.shape != rows.shape[1:] or values.dtype != rows.dtype:
        return False
    chosen = np.arange(len(places)) if lanes is None else lanes
    at = places[chosen]
    if not ((at >= 0) & (at < len(rows))).all():
        return False
    rows[at, chosen] = values[chosen]
    return True


def turn_in_python(pairs: tuple[tuple[np.ndarray, np.ndarray], ...]) -> None:
    """Copies the first rows of each `[rows, lanes, ...]` into `[lanes, rows, ...]`: those of a lane follow each other.

    Raises:
      ValueError: dtypes or shapes do not match, or the arrays are not in one piece.

    >>> turned = np.empty((3, 1), np.int64)
    >>> turn_in_python(((np.arange(6).reshape(2, 3), turned),)), turned.tolist()
    (None, [[0], [1], [2]])
    """
    for rows, lanes in pairs:
        fits = lanes.ndim == rows.ndim >= 2 and lanes.shape[0] == rows.shape[1] and lanes.shape[1] <= rows.shape[0]
        in_one_piece = rows.flags.c_contiguous and lanes.flags.c_contiguous
        if not (fits and in_one_piece and lanes.shape[2:] == rows.shape[2:] and lanes.dtype == rows.dtype):
            raise ValueError("expected [rows, lanes, ...] and [lanes, rows or fewer, ...] of one dtype, in one piece")
    for rows, lanes in pairs:
        lanes[...] = rows[: lanes.shape[1]].swapaxes(0, 1)


add_flags: Final[Callable[[np.ndarray, np.ndarray], np.ndarray]] = getattr(native, "add_flags", add_flags_in_python)
both_true: Final[Callable[[np.ndarray, np.ndarray], bool]] = getattr(native, "both_true", both_true_in_python)
any_true: Final[Callable[[np.ndarray], bool]] = getattr(native, "any_true", any_true_in_python)
is_alike: Final[Callable[[np.ndarray, np.ndarray], bool]] = is_alike_in_python if native is None else native.is_alike
put_row: Final[Callable[[np.ndarray, int, np.ndarray], bool]] = put_row_in_python if native is None else native.put_row
put_lanes: Final[Callable[[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray], bool]] = (
    put_lanes_in_python if native is None else native.put_lanes
)
turn: Final[Callable[[tuple[tuple[np.ndarray, np.ndarray], ...]], None]] = getattr(native, "turn", turn_in_python)
