"""A cache of fields that are small in the whole dataset, so that only large fields are read again."""

from collections.abc import Mapping
from typing import Final

import numpy as np

from rlds_kit.loader.layout import Leaf
from rlds_kit.loader.memory import batch_memory
from rlds_kit.loader.source import Source
from rlds_kit.storage.rows import Rows, take_rows

_LEAST_ROW: Final = 1 << 12
"""Bytes of a row from which on it may pay off to copy rows past the cache."""


class FieldCache:
    """A cache of small leaves: their values at all steps that were read. A pickled copy is empty.

    Threads may write the same values at the same steps concurrently.

    Args:
      source: of the steps.
      layouts: the leaves of every field that is read.
      limit: maximum bytes.

    Attributes:
      leaves: the cached ones: the smallest, as many as there is memory for.
    """

    def __init__(self, source: Source, layouts: Mapping[str, tuple[Leaf, ...]], limit: int) -> None:
        self._arguments = (source, layouts, limit)
        steps = int(source.lengths.sum())
        dense = [leaf for leaves in layouts.values() for leaf in leaves if leaf.spec is not None]
        dense.sort(key=lambda leaf: leaf.row_bytes)
        sizes = steps + np.cumsum([(leaf.row_bytes + 1) * steps for leaf in dense], dtype=np.int64)
        self.leaves = frozenset(dense[: int(np.searchsorted(sizes, limit, "right"))])
        self._values = {leaf: np.zeros((steps, *leaf.shape), leaf.dtype) for leaf in self.leaves}
        self._defined = {leaf: np.zeros(steps, np.bool_) for leaf in self.leaves}
        self._is_known = np.zeros(steps if self.leaves else 0, np.bool_)

    def __reduce__(self) -> tuple[type["FieldCache"], tuple[Source, Mapping[str, tuple[Leaf, ...]], int]]:
        return FieldCache, self._arguments

    def unknown(self, steps: np.ndarray) -> np.ndarray:
        """The steps whose values are not cached yet."""
        unknown: np.ndarray = steps[~self._is_known[steps]]
        return unknown

    def is_known(self, begin: int, end: int) -> bool:
        """Whether all values of steps `[begin, end)` are cached."""
        return bool(self._is_known[begin:end].all())  # without leaves there is nothing to read

    def put(self, leaf: Leaf, begin: int, values: np.ndarray, defined: np.ndarray) -> None:
        """Stores the values of a leaf from step `begin` on."""
        self._values[leaf][begin : begin + len(values)] = values
        self._defined[leaf][begin : begin + len(values)] = defined

    def finish(self, begin: int, end: int) -> None:
        """Marks steps `[begin, end)` as completely stored."""
        self._is_known[begin:end] = True

    def take(self, leaf: Leaf, steps: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Values of a leaf at steps of any shape `[...]`, which must all be cached.

        Returns:
          `[..., *leaf.shape]`, copied; and `[...]` bool, which are defined.
        """
        return taken(self._values[leaf], steps), self._defined[leaf][steps]


def taken(values: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Copies of rows, all of which exist."""
    out = batch_memory.empty((*rows.shape, *values.shape[1:]), values.dtype)
    is_plain = values.flags.c_contiguous and not values.dtype.hasobject
    if is_plain and rows.size and out.nbytes >= _LEAST_ROW * rows.size:
        take_rows(_in_bytes(values, len(values)), rows.reshape(-1), _in_bytes(out, rows.size))
        return out
    # All indices are valid; mode "clip" only avoids NumPy's check, which would need a second copy.
    return np.take(values, rows, axis=0, out=out, mode="clip")


def _in_bytes(array: np.ndarray, count: int) -> Rows:
    return array.reshape(count, -1).view(np.uint8)
