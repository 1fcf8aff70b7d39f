"""Lossless filters that make a column easier to compress, each with its inverse (`docs/format.md`, "Filters").

All work on rows of equal size: an array `[rows, bytes per row]` of uint8, where each value is `itemsize` bytes wide.
Inverses write into an array of that shape.
"""

import sys
from collections.abc import Callable
from typing import Final, TypeAlias

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import noise_split, predict, runs
from rlds_kit.storage.native import native
from rlds_kit.storage.rows import Part, Rows, Stored, array_bytes, in_whole
from rlds_kit.storage.running_hash import RunningHash, encoded_and_hashed
from rlds_kit.storage.xor import unxor, xor

Parts: TypeAlias = tuple[np.ndarray, ...]
"""The result of a filter, in parts that have little in common."""
Shape: TypeAlias = tuple[int, ...]
_INTEGERS: Final = frozenset((1, 2, 4, 8))
"""Sizes of elements that `delta` can subtract."""
_LONG_PLANE: Final = 256
"""Bytes of a plane from which on it pays to describe the distribution of its bytes separately."""


def sparse_xor(rows: Rows, running: RunningHash | None = None) -> Stored:
    """`xor`, then for each row a bitmap of the bytes that are not zero, then all these bytes.

    Rows are also added to a running hash, if one is given.

    >>> sparse_xor(np.array([[1, 2], [1, 3]], np.uint8)).tolist()
    [3, 2, 1, 2, 1]
    """
    return encoded_and_hashed(getattr(native, "sparse_xor", None), sparse_xor_twin, rows, running)


def sparse_xor_twin(rows: Rows) -> Stored:
    """`sparse_xor` in NumPy."""
    differences = xor(rows)
    is_set = differences != 0
    return np.concatenate((np.packbits(is_set, axis=1, bitorder="little").reshape(-1), differences[is_set]))


def unsparse_xor(stored: Stored, out: Rows, part: Part | None = None) -> None:
    """The inverse of `sparse_xor`; for a part of the rows, if one is given.

    Raises:
      ValueError: the bitmap and the values do not fit together.
    """
    part = part or Part(len(out))
    if native is not None and out.flags.c_contiguous and out.size:
        native.unsparse_xor(stored, out, len(out), *part, array_bytes(out))
    else:
        in_whole(unsparse_xor_twin, stored, out, part)


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
    """Byte planes: all first bytes of the values, then all second bytes, and so on.

    >>> shuffle(np.array([[1, 0, 2, 0]], np.uint8), 2).tolist()
    [[1, 2, 0, 0]]
    """
    return np.ascontiguousarray(rows.reshape(-1, itemsize).T).reshape(rows.shape)


def shuffled(number: int, rows: Rows, itemsize: int) -> np.ndarray:
    """`shuffle` of rows; of their `xor` or `delta`, if the number of the filter says so."""
    if not rows.size:
        return shuffled_twin(number, rows, itemsize)
    return np.frombuffer(shuffled_bytes(number, np.ascontiguousarray(rows), len(rows), itemsize), np.uint8)


def shuffled_bytes(number: int, rows: np.ndarray | bytes, count: int, itemsize: int) -> bytes:
    """`shuffled` of the bytes of `count` rows; with IDENTITY these as they are."""
    if number == pb.IDENTITY:
        return rows if isinstance(rows, bytes) else rows.tobytes()
    if _shuffle is not None and (number != pb.DELTA_SHUFFLE or sys.byteorder == "little"):
        return _shuffle(rows, count, itemsize, RELATION[number])
    return shuffled_twin(number, np.frombuffer(rows, np.uint8).reshape(count, -1), itemsize).tobytes()


_shuffle: Final[Callable[[np.ndarray | bytes, int, int, int], bytes] | None] = getattr(native, "shuffle", None)


def shuffled_twin(number: int, rows: Rows, itemsize: int) -> np.ndarray:
    """`shuffled` in NumPy."""
    match number:
        case pb.XOR_SHUFFLE:
            rows = xor(rows)
        case pb.DELTA_SHUFFLE:
            rows = delta(rows, itemsize)
    return shuffle(rows, itemsize)


def _planes(shuffled: np.ndarray, itemsize: int) -> Parts:
    """The byte planes of a shuffled column as parts: of numbers, some are noise, and others nearly constant."""
    if shuffled.size < itemsize * _LONG_PLANE:
        return (shuffled,)
    return tuple(shuffled.reshape(itemsize, -1))


def unshuffle(number: int, stored: Stored, itemsize: int, out: Rows, part: Part | None = None) -> None:
    """The inverse of `shuffle`, and of `xor` or `delta` before it; for a part of the rows, if one is given.

    Args:
      number: SHUFFLE, XOR_SHUFFLE or DELTA_SHUFFLE.
      stored: byte planes.
      itemsize: bytes of an element.
      out: where the rows go.
      part: which rows these are.

    Raises:
      ValueError: there are not as many bytes as rows need.
    """
    part = part or Part(len(out))
    is_known_order = number != pb.DELTA_SHUFFLE or sys.byteorder == "little"
    if native is not None and out.flags.c_contiguous and out.size and is_known_order:
        native.unshuffle(np.ascontiguousarray(stored), out, len(out), *part, itemsize, RELATION[number])
    else:
        in_whole(lambda planes, rows: unshuffle_twin(number, planes, itemsize, rows), stored, out, part)


RELATION: Final[dict[int, int]] = {pb.SHUFFLE: 0, pb.XOR_SHUFFLE: 1, pb.DELTA_SHUFFLE: 2}
"""The numbers of shuffle.c for rows that stand alone, or are relative to the row above by `xor` or `delta`."""
BY_PLANES: Final = frozenset(RELATION)
"""The filters that separate the bytes of values."""


def unshuffle_twin(number: int, stored: Stored, itemsize: int, out: Rows) -> None:
    """`unshuffle` in NumPy."""
    rows = np.ascontiguousarray(stored.reshape(itemsize, -1).T).reshape(out.shape)
    match number:
        case pb.XOR_SHUFFLE:
            unxor(rows, out)
        case pb.DELTA_SHUFFLE:
            undelta(rows, itemsize, out)
        case _:
            out[...] = rows


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


def predict_split(rows: Rows, shape: Shape) -> Parts:
    """`predict`, then `split` of what is left."""
    stored = predict.predict(rows, shape)
    modes, left = np.split(stored, [stored.size - rows.size])
    exceptions, high, noise = noise_split.split(left)
    return np.concatenate((modes, exceptions)), high, noise


def unpredict_split(stored: Stored, shape: Shape, out: Rows, part: Part) -> None:
    """The inverse of `predict_split`. Rows before those that are wanted are decoded, but not written.

    Args:
      stored: its parts, one after the other.
      shape: of a value.
      out: where rows go.
      part: which rows these are.

    Raises:
      ValueError: `stored` is not the encoding of this many rows.
    """
    if native is not None and out.flags.c_contiguous and out.size:
        lines = predict.lines_of(shape)
        native.unpredict_split(stored, part.total, out, part.begin, len(out), *lines, array_bytes(out))
    else:
        unpredict_split_twin(stored, shape, out, part)


def unpredict_split_twin(stored: Stored, shape: Shape, out: Rows, part: Part) -> None:
    """`unpredict_split` in NumPy."""
    height, rows = predict.lines_of(shape).height, np.empty((part.begin + len(out), out.shape[1]), np.uint8)
    left = np.empty(rows.size, np.uint8)
    noise_split.unsplit(stored[part.total * height :], part.total * out.shape[1], left)
    predict.unpredict_twin(stored[: len(rows) * height], left.reshape(rows.shape), shape, rows)
    out[...] = rows[part.begin :]


APPLY: Final[dict[int, Callable[[Rows, int, Shape], Parts]]] = {
    pb.IDENTITY: lambda rows, _, __: (rows,),
    pb.XOR: lambda rows, _, __: (xor(rows),),
    pb.SHUFFLE: lambda rows, itemsize, _: _planes(shuffled(pb.SHUFFLE, rows, itemsize), itemsize),
    pb.XOR_SHUFFLE: lambda rows, itemsize, _: _planes(shuffled(pb.XOR_SHUFFLE, rows, itemsize), itemsize),
    pb.DELTA_SHUFFLE: lambda rows, itemsize, _: _planes(shuffled(pb.DELTA_SHUFFLE, rows, itemsize), itemsize),
    pb.REPEAT: lambda rows, _, __: (rows[:1],),
    pb.SPARSE_XOR: lambda rows, _, __: (sparse_xor(rows),),
    pb.PREDICT: lambda rows, _, shape: (predict.predict(rows, shape),),
    pb.PREDICT_SPLIT: lambda rows, _, shape: predict_split(rows, shape),
    pb.XOR_RUNS: lambda rows, _, __: (runs.runs(rows),),
}
"""The filters by number; each is called with the rows, the size of an element and the shape of a value."""

WHILE_HASHED: Final[dict[int, Callable[[Rows, RunningHash], Stored]]] = {
    pb.SPARSE_XOR: sparse_xor,
    pb.XOR_RUNS: runs.runs,
}
"""Filters that add rows to a hash while these are in the cache, which saves reading them from memory again."""


RANDOM_ACCESS: Final = frozenset(
    (
        pb.REPEAT,
        pb.IDENTITY,
        pb.XOR_RUNS,
        pb.SPARSE_XOR,
        pb.SHUFFLE,
        pb.XOR_SHUFFLE,
        pb.DELTA_SHUFFLE,
        pb.PREDICT_SPLIT,
    )
)
"""Filters of which `undo` decodes some rows without memory for the others: alone, or after the rows before them."""


def undo(number: int, stored: Stored, itemsize: int, shape: Shape, out: Rows, part: Part | None = None) -> None:
    """Undoes a filter: decodes `stored` into `out`.

    Args:
      number: of the filter.
      stored: the result of the filter.
      itemsize: bytes of an element.
      shape: of a value; a row is one.
      out: where the rows go.
      part: which rows of the column these are; None: all.

    Raises:
      ValueError: there is no such filter, or `stored` has the wrong size.
    """
    part = part or Part(len(out))
    match number:
        case pb.REPEAT:
            out[...] = stored.reshape(1, out.shape[1])
        case pb.XOR_RUNS:
            runs.unruns(stored, out, part)
        case pb.SPARSE_XOR:
            unsparse_xor(stored, out, part)
        case pb.IDENTITY:
            out[...] = stored.reshape(part.total, out.shape[1])[part.begin : part.begin + len(out)]
        case pb.SHUFFLE | pb.XOR_SHUFFLE | pb.DELTA_SHUFFLE:
            unshuffle(number, stored, itemsize, out, part)
        case pb.PREDICT_SPLIT if itemsize == 1:
            unpredict_split(stored, shape, out, part)
        case _:
            in_whole(lambda plain, rows: _undo_image(number, plain, itemsize, shape, rows), stored, out, part)


def _undo_image(number: int, stored: Stored, itemsize: int, shape: Shape, out: Rows) -> None:
    """The filters of which all rows are decoded."""
    match number:
        case pb.XOR:
            unxor(stored.reshape(out.shape), out)
        case pb.PREDICT if itemsize == 1:
            modes = len(out) * predict.lines_of(shape).height
            predict.unpredict(stored[:modes], stored[modes:].reshape(out.shape), shape, out)
        case _:
            raise ValueError(
                f"filter {number} of elements of {itemsize} bytes is not known to this version; "
                "a newer rlds_kit wrote it: upgrade rlds_kit"
            )


def candidates(kind: str, itemsize: int) -> tuple[int, ...]:
    """The filters that are fast to try for a NumPy dtype kind ("f", "i", "u", "b", ...) and size in bytes."""
    if itemsize == 1:
        return (pb.XOR_RUNS, pb.SPARSE_XOR, pb.XOR, pb.IDENTITY)
    if kind in "iu":
        return (pb.DELTA_SHUFFLE, pb.SHUFFLE)
    if kind in "fcV":  # IDENTITY is for few different values, such as decimals
        by_number = (pb.XOR_SHUFFLE, pb.SHUFFLE, pb.IDENTITY)
        return (*by_number, pb.DELTA_SHUFFLE) if itemsize in _INTEGERS else by_number
    return (pb.IDENTITY,)
