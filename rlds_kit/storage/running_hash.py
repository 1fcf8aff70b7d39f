"""XXH3-128 of values that come piece by piece, which a filter can hash while it encodes them (`xxh3.c`)."""

import sys
from collections.abc import Callable
from typing import Final

import numpy as np
import xxhash

from rlds_kit.storage.native import native
from rlds_kit.storage.rows import Rows, Stored

_native: Final = native if sys.byteorder == "little" else None
"""The hash in C reads numbers in the order of bytes that the processor has."""


class RunningHash:
    """The XXH3-128 of values that come piece by piece.

    Attributes:
      state: the memory that functions in C add values to; empty without them.

    >>> running = RunningHash()
    >>> running.update(np.array([[1], [2]], np.uint8).data)
    >>> running.digest() == xxhash.xxh3_128_digest(bytes((1, 2)))
    True
    """

    __slots__ = ("_hash", "state")

    def __init__(self) -> None:
        self.state: Final = bytearray() if _native is None else _native.new_hash()
        self._hash = xxhash.xxh3_128()  # without C

    def update(self, values: memoryview) -> None:
        """Adds the bytes of values, which are in C order."""
        if _native is None:
            self._hash.update(values)
        else:
            _native.add(self.state, values)

    def digest(self) -> bytes:
        """The hash of all values so far, 16 bytes, big-endian."""
        return self._hash.digest() if _native is None else _native.digest(self.state)


def encoded_and_hashed(
    encode: Callable[..., bytes] | None, twin: Callable[[Rows], Stored], rows: Rows, running: RunningHash | None
) -> Stored:
    """Rows as a filter encodes them, which are added to a hash, if one is given.

    Args:
      encode: the filter in C, if there is one.
      twin: the filter in NumPy.
      rows: `[n, bytes]` uint8.
      running: the hash.
    """
    rows, state = np.ascontiguousarray(rows), tuple[bytearray, ...]()
    if running is not None and running.state and encode is not None:
        state = (running.state,)
    elif running is not None:
        running.update(rows.data)
    return twin(rows) if encode is None else np.frombuffer(encode(rows, len(rows), *state), np.uint8)
