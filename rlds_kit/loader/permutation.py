"""A permutation of any size that is computed where it is needed, so that shuffling needs no memory.

A Feistel network over just enough bits, walked until it lands below the size (Black and Rogaway, "Ciphers with
arbitrary finite domains", CT-RSA 2002, section 5). Not for secrets.
"""

import hashlib
from typing import Final

import numpy as np

ROUNDS: Final = 8
SMALL_BITS: Final = 8
"""A network of fewer bits has so little to mix that it takes twice the rounds to make all orders equally likely."""


def permuted(positions: np.ndarray, size: int, *key: int) -> np.ndarray:
    """Where a permutation of `range(size)` sends `positions`.

    Args:
      positions: int64, of any shape, each in `[0, size)`.
      size: of the permutation.
      *key: integers; each tuple of them gives another permutation, the same on every machine and in every version.

    Returns:
      int64 of the shape of `positions`.

    >>> permuted(np.arange(5), 5, 0).tolist()
    [4, 2, 0, 3, 1]
    """
    bits = max(2, (size - 1).bit_length())
    keys = _round_keys(key, ROUNDS if bits >= SMALL_BITS else 2 * ROUNDS)
    left, right = bits // 2, bits - bits // 2
    found = _network(positions.astype(np.uint64), keys, left, right)
    while (outside := found >= size).any():
        found[outside] = _network(found[outside], keys, left, right)
    return found.astype(np.int64)


def _round_keys(key: tuple[int, ...], rounds: int) -> list[np.uint64]:
    digest = hashlib.shake_128(repr(key).encode()).digest(rounds * 8)
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
