"""Base-128 integers."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rlds_kit.riegeli import varint
from rlds_kit.riegeli.errors import DamagedError


@given(st.integers(0, 2**64 - 1))
def test_decode_inverts_encode(value: int) -> None:
    """Every 64-bit number comes back, and decoding stops where it ends."""
    encoded = varint.encode(value)
    assert varint.decode(encoded + b"\xff", 0) == (value, len(encoded))


@pytest.mark.parametrize("value", [-1, 2**64])
def test_numbers_beyond_64_bits_are_refused(value: int) -> None:
    """A value that a varint cannot represent is a ValueError when writing."""
    with pytest.raises(ValueError, match=r"0 to 2\*\*64"):
        varint.encode(value)
    with pytest.raises(ValueError, match=r"0 to 2\*\*64"):
        varint.encode_all([1, value])


def test_longer_forms_are_read() -> None:
    """A form with more bytes than necessary means the same number."""
    assert varint.decode(b"\x81\x80\x00", 0) == (1, 3)


@pytest.mark.parametrize(
    ("data", "bits"),
    [(b"", 64), (b"\x80", 64), (b"\xff" * 9 + b"\x02", 64), (b"\x80" * 10 + b"\x00", 64), (b"\xff" * 4 + b"\x10", 32)],
)
def test_broken_varints_are_damage(data: bytes, bits: int) -> None:
    """A varint that is cut short, too long or too large is refused."""
    with pytest.raises(DamagedError):
        varint.decode(data, 0, bits=bits)


def test_largest_32_bit_number_is_read() -> None:
    """The limit of 32 bits is inclusive."""
    assert varint.decode(b"\xff\xff\xff\xff\x0f", 0, bits=32) == (2**32 - 1, 5)


_SIZES = st.integers(0, 127), st.integers(128, 2**14 - 1), st.integers(0, 2**64 - 1)


@given(st.one_of([st.lists(each, max_size=30) for each in _SIZES]))
@example([0, 127])
@example([0, 128])
def test_lists_of_any_sizes(numbers: list[int]) -> None:
    """Whatever way is taken through them: one byte each, two bytes each, up to nine, or up to ten."""
    data = b"".join(map(varint.encode, numbers))
    assert (varint.encode_all(numbers), varint.decode_all(data, len(numbers))) == (data, numbers)


@given(st.binary(max_size=24), st.integers(0, 24))
def test_lists_are_decoded_as_their_numbers(data: bytes, count: int) -> None:
    """Any bytes: the same numbers, or damage."""
    expected, position = list[int](), 0
    try:
        for _ in range(count):
            number, position = varint.decode(data, position)
            expected.append(number)
    except DamagedError:
        position = -1
    if position == len(data):
        assert varint.decode_all(data, count) == expected
    else:
        with pytest.raises(DamagedError):
            varint.decode_all(data, count)


@pytest.mark.parametrize(("data", "count"), [(b"\x01", 2), (b"\x01\x02", 1), (b"", 2**50), (b"\x80", 1)])
def test_wrong_counts_are_damage(data: bytes, count: int) -> None:
    """A list of numbers must fill its buffer exactly, and its count is not trusted."""
    with pytest.raises(DamagedError):
        varint.decode_all(data, count)
