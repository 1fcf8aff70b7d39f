"""A permutation of any size that is computed position by position, so that shuffling needs no memory.

A Feistel network over just enough bits, repeated until the result is below the size (Black and Rogaway, "Ciphers with
arbitrary finite domains", CT-RSA 2002, section 5). A network of few bits has too little to mix to make all orders
equally likely, so small sizes are shuffled as a table (Knuth, TAOCP volume 2, algorithm 3.4.2P). Not for secrets.
"""

import functools
import hashlib
from typing import Final

import numpy as np

ROUNDS: Final = 8
SMALL_SIZE: Final = 256
"""Sizes up to this one are shuffled as a table."""
_TABLES: Final = 1024
"""Tables that stay cached: 2 KiB each at the most."""


def permuted(positions: np.ndarray, size: int, *key: int) -> np.ndarray:
    """Applies a permutation of `range(size)` to `positions`.

    Args:
      positions: int64, of any shape, each in `[0, size)`.
      size: of the permutation.
      *key: integers; each tuple selects a permutation, which is the same on every machine and in every version.

    Returns:
      int64 of the shape of `positions`.

    >>> permuted(np.arange(5), 5, 0).tolist()
    [3, 0, 1, 4, 2]
    """
    if size <= SMALL_SIZE:
        found: np.ndarray = _shuffled(size, key)[positions]
        return found
    bits = (size - 1).bit_length()
    keys = _round_keys(key)
    left, right = bits // 2, bits - bits // 2
    found = _network(positions.astype(np.uint64), keys, left, right)
    while (outside := found >= size).any():
        found[outside] = _network(found[outside], keys, left, right)
    return found.astype(np.int64)


@functools.lru_cache(_TABLES)
def _shuffled(size: int, key: tuple[int, ...]) -> np.ndarray:
    """`[size]` int64: all orders are equally likely over the keys, but for a bias below `size / 2**64` in each draw."""
    draws = hashlib.shake_128(repr((size, *key)).encode()).digest(size * 8)
    order = list(range(size))
    for last in range(size - 1, 0, -1):
        drawn = int.from_bytes(draws[8 * last : 8 * last + 8], "little") * (last + 1) >> 64
        order[last], order[drawn] = order[drawn], order[last]
    table = np.array(order, np.int64)
    table.setflags(write=False)  # all callers share it
    return table


def _round_keys(key: tuple[int, ...]) -> list[np.uint64]:
    digest = hashlib.shake_128(repr(key).encode()).digest(ROUNDS * 8)
    return list(np.frombuffer(digest, "<u8").astype(np.uint64))


def _network(values: np.ndarray, keys: list[np.uint64], left_bits: int, right_bits: int) -> np.ndarray:
    left_mask, right_mask = np.uint64((1 << left_bits) - 1), np.uint64((1 << right_bits) - 1)
    left, right = values >> np.uint64(right_bits), values & right_mask
    for key, other in zip(keys[::2], keys[1::2], strict=True):
        left = left ^ (_mixed(right ^ key) & left_mask)
        right = right ^ (_mixed(left ^ other) & right_mask)
    joined: np.ndarray = (left << np.uint64(right_bits)) | right
    return joined


def _mixed(values: np.ndarray) -> np.ndarray:
    """The finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014, figure 16)."""
    values = (values ^ (values >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    values = (values ^ (values >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    mixed: np.ndarray = values ^ (values >> np.uint64(31))
    return mixed
