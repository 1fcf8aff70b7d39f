"""The minimal transposed encoder, read back by the full decoder."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.riegeli import transposed, transposed_encode
from rlds_kit.riegeli.codec import Codec, Compression, make_compressor


def test_worked_example() -> None:
    """Three records, uncompressed, have the smallest encoding."""
    encoded = transposed_encode.encode([b"abc", b"", b"hello"], Codec.NONE, bytes)
    assert encoded.hex() == "000a01020b0803010100000068656c6c6f61626305000301"


@given(st.sampled_from(list(Codec)), st.lists(st.binary(max_size=200), max_size=30))
def test_decode_inverts_encode(codec: Codec, records: list[bytes]) -> None:
    """Any records come back from any codec, none at all too."""
    data = transposed_encode.encode(records, codec, make_compressor(Compression(codec)))
    assert transposed.decode(data, len(records), sum(map(len, records))) == records


def test_records_of_4_gib_are_refused() -> None:
    """A length that the format cannot express is a ValueError before anything is encoded."""

    class Huge(bytes):
        def __len__(self) -> int:
            return 1 << 32

    with pytest.raises(ValueError, match="4 GiB"):
        transposed_encode.encode([Huge()], Codec.NONE, bytes)
