"""Chunk headers and framed chunks."""

import pytest

from rlds_kit.riegeli import chunk
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.errors import DamagedError

SIGNATURE = bytes.fromhex(
    "83af70d10d884a3f 0000000000000000 4000000000000000 91bac23c9287e1a9"
    "0000000000000000 e19f13c0e9b1c372 7300000000000000 0000000000000000"
)


def test_file_signature() -> None:
    """The first 64 bytes of every file come out of the ordinary rules for an empty chunk at 0."""
    assert chunk.frame_chunk(0, ChunkHeader.describe(b"", chunk_type=chunk.SIGNATURE), b"") == SIGNATURE


def test_worked_example_of_a_simple_chunk() -> None:
    """The chunk of "abc", "" and "hello" has the bytes that C++ writes."""
    data = bytes.fromhex("0003 030005 616263 68656c6c6f")
    header = ChunkHeader.describe(data, chunk_type=chunk.SIMPLE, num_records=3, decoded_data_size=8)
    expected = "32a507e775b57040 0d00000000000000 a1c8109d1c9770b4 7203000000000000 0800000000000000"
    assert chunk.frame_chunk(64, header, data) == bytes.fromhex(expected) + data


def test_parse_inverts_pack() -> None:
    """Every field comes back at its largest value."""
    header = ChunkHeader(2**64 - 1, 2**64 - 2, 255, chunk.MAX_NUM_RECORDS, 2**64 - 3)
    assert ChunkHeader.parse(header.pack()) == header


@pytest.mark.parametrize("byte", range(40))
def test_any_flipped_bit_is_damage(byte: int) -> None:
    """The header's hash covers all of it."""
    raw = bytearray(ChunkHeader(13, 7, chunk.SIMPLE, 3, 8).pack())
    raw[byte] ^= 1 << byte % 8
    with pytest.raises(DamagedError, match="hash"):
        ChunkHeader.parse(raw)


def test_header_of_other_length_is_damage() -> None:
    """39 bytes are not a header."""
    with pytest.raises(DamagedError, match="40 bytes"):
        ChunkHeader.parse(bytes(39))


@pytest.mark.parametrize(
    "header",
    [
        ChunkHeader(1, 0, chunk.SIGNATURE, 0, 0),
        ChunkHeader(0, 0, chunk.SIGNATURE, 1, 0),
        ChunkHeader(0, 0, chunk.PADDING, 1, 0),
        ChunkHeader(0, 0, chunk.PADDING, 0, 1),
        ChunkHeader(0, 0, chunk.METADATA, 1, 0),
        ChunkHeader(0, 0, ord("?"), 1, 0),
    ],
)
def test_counts_that_a_type_does_not_allow_are_damage(header: ChunkHeader) -> None:
    """Chunks without records have a count of 0, and records of an unknown type are an error."""
    with pytest.raises(DamagedError):
        header.validate()


def test_unknown_type_without_records_is_fine() -> None:
    """A future chunk type without records may be ignored."""
    ChunkHeader(100, 0, ord("?"), 0, 5).validate()
