"""CRC-32C against published values and against the definition, bit by bit."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.convert.tfds.tf_record import crc32c, in_numpy


def by_definition(data: bytes) -> int:
    """Divides by the polynomial, one bit at a time."""
    state = 0xFFFFFFFF
    for byte in data:
        state ^= byte
        for _ in range(8):
            state = state >> 1 ^ (0x82F63B78 if state & 1 else 0)
    return state ^ 0xFFFFFFFF


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (b"", 0),
        (b"123456789", 0xE3069283),
        (bytes(32), 0x8A9136AA),
        (b"\xff" * 32, 0x62A8AB43),
        (bytes(range(32)), 0x46DD794E),
        (bytes(range(31, -1, -1)), 0x113FDB5C),
    ],
)
def test_published_values(data: bytes, expected: int) -> None:
    """The examples of RFC 3720, appendix B.4."""
    assert crc32c(data) == in_numpy(data) == expected


@given(st.integers(0, 2_000), st.integers(0, 2**32 - 1))
def test_is_the_remainder(length: int, seed: int) -> None:
    """Words in C, and lanes side by side, give what the definition gives, for any number of them."""
    data = np.random.default_rng(seed).bytes(length)
    assert crc32c(data) == in_numpy(data) == by_definition(data)


def test_long_messages() -> None:
    """Messages that fill the lanes several times."""
    data = np.random.default_rng(0).bytes((1 << 20) * 2 + 12_345)
    assert crc32c(data) == crc32c(memoryview(data)) == in_numpy(data)
    changed = bytearray(data)
    changed[1_500_000] ^= 1
    assert crc32c(bytes(changed)) != crc32c(data)
    half = len(data) // 2
    assert crc32c(data[:half]) != crc32c(data[half:])
