"""Lossless filters that make a column easier to compress, each with its inverse (`docs/format.md`, "Filters").

All work on rows of equal size: an array `[rows, bytes per row]` of uint8, where each value is `itemsize` bytes wide.
"""

from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from rlds_kit.storage import rlds_kit_pb2 as pb

Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint8]]


def xor(rows: Rows) -> Rows:
    """Each row XOR the row before it; the first stays.

    >>> xor(np.array([[1, 2], [1, 3]], np.uint8)).tolist()
    [[1, 2], [0, 1]]
    """
    filtered = np.empty_like(rows)
    filtered[:1] = rows[:1]
    np.bitwise_xor(rows[1:], rows[:-1], out=filtered[1:])
    return filtered


def unxor(rows: Rows) -> Rows:
    """The inverse of `xor`."""
    restored = np.empty_like(rows)
    restored[:1] = rows[:1]
    # Row by row, as `ufunc.accumulate` walks down the columns, which is ten times slower on images.
    for index in range(1, len(rows)):
        np.bitwise_xor(rows[index], restored[index - 1], out=restored[index])
    return restored


def shuffle(rows: Rows, itemsize: int) -> Rows:
    """All first bytes of the values, then all second bytes, and so on.

    >>> shuffle(np.array([[1, 0, 2, 0]], np.uint8), 2).tolist()
    [[1, 2, 0, 0]]
    """
    return np.ascontiguousarray(rows.reshape(-1, itemsize).T).reshape(rows.shape)


def unshuffle(rows: Rows, itemsize: int) -> Rows:
    """The inverse of `shuffle`."""
    return np.ascontiguousarray(rows.reshape(itemsize, -1).T).reshape(rows.shape)


def delta(rows: Rows, itemsize: int) -> Rows:
    """Each value minus the value above it, modulo 2^bits; the first row stays. Needs 1, 2, 4 or 8 byte values."""
    numbers = rows.view(f"<u{itemsize}")
    filtered = np.empty_like(numbers)
    filtered[:1] = numbers[:1]
    np.subtract(numbers[1:], numbers[:-1], out=filtered[1:])
    return filtered.view(np.uint8)


def undelta(rows: Rows, itemsize: int) -> Rows:
    """The inverse of `delta`."""
    numbers = rows.view(f"<u{itemsize}")
    return np.cumsum(numbers, axis=0, dtype=numbers.dtype).view(np.uint8)


APPLY: Final[dict[int, Callable[[Rows, int], Rows]]] = {
    pb.IDENTITY: lambda rows, _: rows,
    pb.XOR: lambda rows, _: xor(rows),
    pb.SHUFFLE: shuffle,
    pb.XOR_SHUFFLE: lambda rows, itemsize: shuffle(xor(rows), itemsize),
    pb.DELTA_SHUFFLE: lambda rows, itemsize: shuffle(delta(rows, itemsize), itemsize),
    pb.REPEAT: lambda rows, _: rows[:1],
}

UNDO: Final[dict[int, Callable[[Rows, int], Rows]]] = {
    pb.IDENTITY: lambda rows, _: rows,
    pb.XOR: lambda rows, _: unxor(rows),
    pb.SHUFFLE: unshuffle,
    pb.XOR_SHUFFLE: lambda rows, itemsize: unxor(unshuffle(rows, itemsize)),
    pb.DELTA_SHUFFLE: lambda rows, itemsize: undelta(unshuffle(rows, itemsize), itemsize),
}
"""REPEAT is undone by the reader, which knows how many rows there were."""


def candidates(kind: str, itemsize: int) -> tuple[int, ...]:
    """The filters worth a try for values of a NumPy dtype kind ("f", "i", "u", "b", ...) and size in bytes."""
    if itemsize == 1:
        return (pb.XOR, pb.IDENTITY)
    if kind in "iu":
        return (pb.DELTA_SHUFFLE, pb.SHUFFLE)
    if kind in "fcV":
        return (pb.XOR_SHUFFLE, pb.SHUFFLE)
    return (pb.IDENTITY,)
