"""Splits of datasets by a hash of each episode's id."""

import bisect
import itertools
import math
import uuid
from collections.abc import Mapping
from typing import Final, TypeAlias

BUCKETS: Final = 2**53
"""Hashes are taken modulo this: every fraction that a float can hold is a whole number of buckets."""
_SINGLE_PRECISION: Final = 1e-6
"""Sums that differ from 1 by less do so because their parts were rounded to float32."""
_ID: Final = 0x726C6473  # "rlds": the second half of the key, beside the seed


def part_of(episode_id: str | bytes | int | uuid.UUID, fractions: Mapping[str, float], seed: int = 0) -> str:
    """The part of a split that an episode belongs to.

    It depends only on the id, the fractions and the seed, so it is the same on every machine and in every copy, merge
    and order of the episodes, and independent of other episodes. The id is hashed with SipHash-2-4 (`siphash`), and the
    parts are neighbouring ranges of the hash: when a fraction grows at the cost of a later one, no episode leaves it.

    Args:
      episode_id: text is hashed as UTF-8, a whole number and a UUID as the text that `str` gives.
      fractions: of each part, by name, in their order; they sum to 1.
      seed: a number below 2**63, which selects the split.

    Raises:
      ValueError: the fractions are invalid, or the seed is out of range.

    >>> [part_of(episode_id, {"train": 0.8, "test": 0.2}) for episode_id in ("a", "b", "c", "d", "e")]
    ['train', 'train', 'train', 'train', 'test']
    """
    data = episode_id if isinstance(episode_id, bytes) else str(episode_id).encode()
    bucket = siphash(key_of(seed), data) % BUCKETS
    return list(fractions)[bisect.bisect_right(ends_of(fractions), bucket)]


def ends_of(fractions: Mapping[str, float]) -> list[int]:
    """The bucket before which each part ends.

    Raises:
      TypeError: the fractions are no dict.
      ValueError: there are no fractions, one is not positive, or they do not sum to 1.

    >>> [end / BUCKETS for end in ends_of({"train": 0.75, "test": 0.25})]
    [0.75, 1.0]
    """
    if not isinstance(fractions, Mapping):
        raise TypeError(f'expected fractions by name, such as {{"train": 0.9, "test": 0.1}}, got {fractions!r}')
    wrong = {name: value for name, value in fractions.items() if not (math.isfinite(value) and value > 0)}
    if wrong or not fractions:
        raise ValueError(f"expected fractions above 0, got {wrong or 'none'}; leave out parts that get nothing")
    total = math.fsum(fractions.values())
    if abs(total - 1) > 1e-9:
        cure = "; give Python's floats, for float32 has too few digits" if abs(total - 1) < _SINGLE_PRECISION else ""
        raise ValueError(f"expected fractions that sum to 1, got {dict(fractions)}, which sum to {total}{cure}")
    sums = list(itertools.accumulate(fractions.values()))
    return [*(round(end * BUCKETS) for end in sums[:-1]), BUCKETS]


def key_of(seed: int) -> tuple[int, int]:
    """The key that ids are hashed with.

    Raises:
      ValueError: the seed is out of range.
    """
    if not 0 <= seed < 2**63:
        raise ValueError(f"expected a seed from 0 to 2**63 - 1, got {seed}")
    return seed, _ID


_State: TypeAlias = tuple[int, int, int, int]

_MASK: Final = 2**64 - 1
_INITIAL: Final = b"somepseudorandomlygeneratedbytes"  # the constants of the paper, as text


def siphash(key: tuple[int, int], data: bytes) -> int:
    """SipHash-2-4, a keyed hash of short texts that has the same value everywhere: that of `data`, below 2**64.

    Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2. TensorFlow has the same
    function as `tf.strings.to_hash_bucket_strong`.

    Args:
      key: two numbers below 2**64.
      data: anything.

    >>> hex(siphash((0x0706050403020100, 0x0F0E0D0C0B0A0908), bytes(range(15))))
    '0xa129ca6149be45e5'
    """
    words = [int.from_bytes(_INITIAL[at : at + 8], "big") for at in range(0, 32, 8)]
    state: _State = (words[0] ^ key[0], words[1] ^ key[1], words[2] ^ key[0], words[3] ^ key[1])
    padded = data + bytes(7 - len(data) % 8) + bytes([len(data) % 256])
    for at in range(0, len(padded), 8):
        state = _compress(state, int.from_bytes(padded[at : at + 8], "little"))
    v0, v1, v2, v3 = state
    state = (v0, v1, v2 ^ 0xFF, v3)
    for _ in range(4):
        state = _round(state)
    return state[0] ^ state[1] ^ state[2] ^ state[3]


def _compress(state: _State, word: int) -> _State:
    v0, v1, v2, v3 = state
    v0, v1, v2, v3 = _round(_round((v0, v1, v2, v3 ^ word)))
    return v0 ^ word, v1, v2, v3


def _round(state: _State) -> _State:
    v0, v1, v2, v3 = state
    v0, v2 = (v0 + v1) & _MASK, (v2 + v3) & _MASK
    v1, v3 = _rotate(v1, 13) ^ v0, _rotate(v3, 16) ^ v2
    v0 = _rotate(v0, 32)
    v2, v0 = (v2 + v1) & _MASK, (v0 + v3) & _MASK
    v1, v3 = _rotate(v1, 17) ^ v2, _rotate(v3, 21) ^ v0
    return v0, v1, _rotate(v2, 32), v3


def _rotate(word: int, bits: int) -> int:
    return (word << bits | word >> (64 - bits)) & _MASK
