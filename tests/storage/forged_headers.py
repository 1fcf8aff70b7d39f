"""Headers of blocks that no writer made, with right checksums."""

from pathlib import Path

import xxhash
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.riegeli import simple, varint
from rlds_kit.riegeli.chunk import SIMPLE, ChunkHeader, frame_chunk
from rlds_kit.riegeli.codec import Codec
from rlds_kit.storage.shard_file import ShardFile


def forged_shard(folder: Path, header: bytes) -> ShardFile:
    """A file with one block, at position 64, that has these bytes for its header, and the right checksum of them."""
    checksum = xxhash.xxh3_64_intdigest(header).to_bytes(8, "little")
    inner = b"\x0a" + varint.encode(len(header)) + header + b"\x11" + checksum + bytes(300)
    record = b"\x08\x01\x22" + varint.encode(len(inner)) + inner
    data = simple.encode([record], Codec.NONE, bytes)
    chunk = ChunkHeader.describe(data, chunk_type=SIMPLE, num_records=1, decoded_data_size=len(record))
    path = folder / "forged"
    path.write_bytes(bytes(64) + frame_chunk(64, chunk, data))
    return ShardFile(path)


@st.composite
def forged_headers(draw: st.DrawFn) -> bytes:
    """Of the episode `b"e" * 16`, rows 0 to 5, with columns of any numbers, and some bytes replaced."""
    numbers = st.one_of(st.integers(0, 9), st.integers(0, (1 << 64) - 1), st.sampled_from([1 << 31, 1 << 62, 1 << 63]))
    header = pb.BlockHeader(episode_id=b"e" * 16, first_row=0, end_row=5)
    for _ in range(draw(st.integers(0, 3))):
        column = header.columns.add(path=draw(st.sampled_from(["x", "x/y", "y", "xy"])), xxh3=draw(numbers))
        column.dtype = draw(st.sampled_from(["float32", "float64", "", "nonsense"]))
        column.kind = draw(st.sampled_from([0, 1, 2, 3, 5, 9, 10]))  # type: ignore[assignment]  # the stub's enum
        column.rank = draw(st.integers(0, 2))
        column.shape.extend(draw(st.lists(st.sampled_from([0, 3, 1 << 40]), max_size=2)))
        for name in ("first_row", "count", "offset", "length", "decoded_length"):
            setattr(column, name, draw(numbers))
        column.partial, column.ragged = draw(st.booleans()), draw(st.booleans())
    raw = bytearray(header.SerializeToString())
    for _ in range(draw(st.integers(0, 2))):
        raw[draw(st.integers(0, len(raw) - 1))] = draw(st.integers(0, 255))
    return bytes(raw)
