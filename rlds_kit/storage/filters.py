"""Lossless filters that make a column easier to compress, each with its inverse (`docs/format.md`, "Filters").

All work on rows of equal size: an array `[rows, bytes per row]` of uint8, where each value is `itemsize` bytes wide.
Inverses write into an array of that shape.
"""

import os
from collections.abc import Callable
from types import ModuleType
from typing import Final, TypeAlias

import numpy as np

from rlds_kit.storage import rlds_kit_pb2 as pb

Rows: TypeAlias = np.ndarray[tuple[int, int], np.dtype[np.uint8]]
Stored: TypeAlias = np.ndarray[tuple[int], np.dtype[np.uint8]]


def _load_native() -> ModuleType | None:
    """The C extension, unless it was not built or RLDS_KIT_PURE=1 keeps it out."""
    if os.environ.get("RLDS_KIT_PURE") == "1":
        return None
    try:
        from rlds_kit.storage import _native
    except ImportError:  # no compiler when this was installed: the twins do the work
        return None
    return _native


native = _load_native()


def xor(rows: Rows) -> Rows:
    """Each row XOR the row before it; the first stays.

    >>> xor(np.array([[1, 2], [1, 3]], np.uint8)).tolist()
    [[1, 2], [0, 1]]
    """
    filtered = np.empty_like(rows)
    filtered[:1] = rows[:1]
    np.bitwise_xor(rows[1:], rows[:-1], out=filtered[1:])
    return filtered


def unxor(rows: Rows, out: Rows) -> None:
    """The inverse of `xor`."""
    out[:1] = rows[:1]
    # Row by row, as `ufunc.accumulate` walks down the columns, which is ten times slower on images.
    for index in range(1, len(rows)):
        np.bitwise_xor(rows[index], out[index - 1], out=out[index])


def sparse_xor(rows: Rows) -> Stored:
    """`xor`, then for each row a bitmap of the bytes that are not zero, then all these bytes.

    >>> sparse_xor(np.array([[1, 2], [1, 3]], np.uint8)).tolist()
    [3, 2, 1, 2, 1]
    """
    if native is not None:
        return np.frombuffer(native.sparse_xor(np.ascontiguousarray(rows).data, len(rows)), np.uint8)
    return sparse_xor_twin(rows)


def sparse_xor_twin(rows: Rows) -> Stored:
    """`sparse_xor` in NumPy."""
    differences = xor(rows)
    is_set = differences != 0
    return np.concatenate((np.packbits(is_set, axis=1, bitorder="little").reshape(-1), differences[is_set]))


def unsparse_xor(stored: Stored, out: Rows) -> None:
    """The inverse of `sparse_xor`.

    Raises:
      ValueError: the bitmap and the values do not fit together.
    """
    if native is not None and out.flags.c_contiguous and out.size:
        native.unsparse_xor(stored.data, out.reshape(-1).data, len(out))
    else:
        unsparse_xor_twin(stored, out)


def unsparse_xor_twin(stored: Stored, out: Rows) -> None:
    """`unsparse_xor` in NumPy."""
    width = (out.shape[1] + 7) // 8
    bitmap = stored[: len(out) * width].reshape(len(out), width)
    is_set = np.unpackbits(bitmap, axis=1, bitorder="little").astype(np.bool_)
    values = stored[bitmap.size :]
    if np.count_nonzero(is_set) != len(values) or is_set[:, out.shape[1] :].any():
        raise ValueError("the bitmap and the values do not fit together")
    differences = np.zeros_like(out)
    differences[is_set[:, : out.shape[1]]] = values
    unxor(differences, out)


def shuffle(rows: Rows, itemsize: int) -> Rows:
    """All first bytes of the values, then all second bytes, and so on.

    >>> shuffle(np.array([[1, 0, 2, 0]], np.uint8), 2).tolist()
    [[1, 2, 0, 0]]
    """
    return np.ascontiguousarray(rows.reshape(-1, itemsize).T).reshape(rows.shape)


def unshuffle(rows: Rows, itemsize: int) -> Rows:
    """The inverse of `shuffle`, as a new array."""
    return np.ascontiguousarray(rows.reshape(itemsize, -1).T).reshape(rows.shape)


def delta(rows: Rows, itemsize: int) -> Rows:
    """Each value minus the value above it, modulo 2^bits; the first row stays. Needs 1, 2, 4 or 8 byte values."""
    numbers = rows.view(f"<u{itemsize}")
    filtered = np.empty_like(numbers)
    filtered[:1] = numbers[:1]
    np.subtract(numbers[1:], numbers[:-1], out=filtered[1:])
    return filtered.view(np.uint8)


def undelta(rows: Rows, itemsize: int, out: Rows) -> None:
    """The inverse of `delta`."""
    numbers = rows.view(f"<u{itemsize}")
    np.cumsum(numbers, axis=0, dtype=numbers.dtype, out=out.view(numbers.dtype))


APPLY: Final[dict[int, Callable[[Rows, int], np.ndarray]]] = {
    pb.IDENTITY: lambda rows, _: rows,
    pb.XOR: lambda rows, _: xor(rows),
    pb.SHUFFLE: shuffle,
    pb.XOR_SHUFFLE: lambda rows, itemsize: shuffle(xor(rows), itemsize),
    pb.DELTA_SHUFFLE: lambda rows, itemsize: shuffle(delta(rows, itemsize), itemsize),
    pb.REPEAT: lambda rows, _: rows[:1],
    pb.SPARSE_XOR: lambda rows, _: sparse_xor(rows),
}
"""Each takes rows and the size of a value."""


def undo(number: int, stored: Stored, itemsize: int, out: Rows) -> None:
    """Writes the rows that a filter made `stored` of into `out`.

    Raises:
      ValueError: there is no such filter, or `stored` has not the size that it would have.
    """
    match number:
        case pb.REPEAT:
            out[...] = stored.reshape(1, out.shape[1])
        case pb.SPARSE_XOR:
            unsparse_xor(stored, out)
        case pb.IDENTITY:
            out[...] = stored.reshape(out.shape)
        case pb.XOR:
            unxor(stored.reshape(out.shape), out)
        case pb.SHUFFLE:
            out[...] = unshuffle(stored.reshape(out.shape), itemsize)
        case pb.XOR_SHUFFLE:
            unxor(unshuffle(stored.reshape(out.shape), itemsize), out)
        case pb.DELTA_SHUFFLE:
            undelta(unshuffle(stored.reshape(out.shape), itemsize), itemsize, out)
        case _:
            raise ValueError(f"filter {number} is not known to this version")


def candidates(kind: str, itemsize: int) -> tuple[int, ...]:
    """The filters worth a try for values of a NumPy dtype kind ("f", "i", "u", "b", ...) and size in bytes."""
    if itemsize == 1:
        return (pb.SPARSE_XOR, pb.XOR, pb.IDENTITY)
    if kind in "iu":
        return (pb.DELTA_SHUFFLE, pb.SHUFFLE)
    if kind in "fcV":
        return (pb.XOR_SHUFFLE, pb.SHUFFLE)
    return (pb.IDENTITY,)
