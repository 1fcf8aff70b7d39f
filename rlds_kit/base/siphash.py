"""SipHash-2-4, a keyed hash of short texts that has the same value everywhere.

Aumasson and Bernstein, "SipHash: a fast short-input PRF", INDOCRYPT 2012, section 2. TensorFlow has the same function
as `tf.strings.to_hash_bucket_strong`.
"""

from typing import Final, TypeAlias

_State: TypeAlias = tuple[int, int, int, int]

_MASK: Final = 2**64 - 1
_INITIAL: Final = b"somepseudorandomlygeneratedbytes"  # the constants of the paper, as text


def siphash(key: tuple[int, int], data: bytes) -> int:
    """The hash of `data`, below 2**64.

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
