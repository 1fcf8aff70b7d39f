"""Simple chunks."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.riegeli import simple
from rlds_kit.riegeli.codec import Codec, Compression, make_compressor
from rlds_kit.riegeli.errors import DamagedError

RECORDS = [b"abc", b"", b"hello"]
EXAMPLE = bytes.fromhex("0003 030005 616263 68656c6c6f")


def test_worked_example() -> None:
    """Three records, uncompressed, have the bytes that C++ writes, and come back."""
    assert simple.encode(RECORDS, Codec.NONE, bytes) == EXAMPLE
    assert simple.decode(EXAMPLE, 3, 8) == RECORDS


@given(st.sampled_from(list(Codec)), st.lists(st.binary(max_size=300), max_size=30))
def test_decode_inverts_encode(codec: Codec, records: list[bytes]) -> None:
    """Any records come back from any codec."""
    data = simple.encode(records, codec, make_compressor(Compression(codec)))
    assert simple.decode(data, len(records), sum(map(len, records))) == records


@pytest.mark.parametrize(
    ("data", "num_records", "decoded_size"),
    [
        (b"", 0, 0),  # not even a codec
        (EXAMPLE, 2, 8),  # a size too many
        (EXAMPLE, 4, 8),  # a size too few
        (EXAMPLE, 3, 9),  # sizes and header disagree
        (EXAMPLE[:-1], 3, 8),  # a value is cut short
        (EXAMPLE + b"!", 3, 8),  # something follows the values
        (EXAMPLE[:3], 3, 8),  # the sizes are cut short
        (b"\x01" + EXAMPLE[1:], 3, 8),  # unknown codec
        (EXAMPLE, 2**56 - 1, 8),  # a count that no memory could hold
    ],
)
def test_contradictions_are_damage(data: bytes, num_records: int, decoded_size: int) -> None:
    """Sizes, values and header must agree."""
    with pytest.raises(DamagedError):
        simple.decode(data, num_records, decoded_size)


def test_compressed_values_are_bounded_by_the_header() -> None:
    """A values buffer that unpacks to more than the sizes add up to is refused before it is unpacked."""
    compress = make_compressor(Compression(Codec.ZSTD))
    sizes = compress(b"\x03")
    data = bytes((Codec.ZSTD, len(sizes))) + sizes + compress(bytes(1 << 20))
    with pytest.raises(DamagedError, match="more than the 3"):
        simple.decode(data, 1, 3)
    with pytest.raises(DamagedError, match="more than the 2"):
        simple.decode(simple.encode([b"abc"], Codec.ZSTD, compress), 1, 3, max_size=2)
