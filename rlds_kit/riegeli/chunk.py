"""The 40-byte header of a chunk, and a whole chunk as file bytes.

"Chunk" of https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

import struct
from dataclasses import dataclass

from rlds_kit.riegeli import blocks
from rlds_kit.riegeli.buffer import Buffer
from rlds_kit.riegeli.errors import DamagedError
from rlds_kit.riegeli.hash import highway_hash64

SIGNATURE = ord("s")
METADATA = ord("m")
PADDING = ord("p")
SIMPLE = ord("r")
TRANSPOSED = ord("t")

MAX_NUM_RECORDS = (1 << 56) - 1

_BODY = struct.Struct("<QQQQ")
_HASH = struct.Struct("<Q")


@dataclass(frozen=True, slots=True)
class ChunkHeader:
    """The description of a chunk, at its beginning.

    `data_size` counts the bytes after the header without block headers; `decoded_data_size` is the sum of
    the record sizes (or the size of the metadata message).

    >>> ChunkHeader(0, highway_hash64(b""), SIGNATURE, 0, 0).pack()[:8].hex()
    '91bac23c9287e1a9'
    """

    data_size: int
    data_hash: int
    chunk_type: int
    num_records: int
    decoded_data_size: int

    @classmethod
    def describe(
        cls, data: Buffer, *, chunk_type: int, num_records: int = 0, decoded_data_size: int = 0
    ) -> ChunkHeader:
        """Return the header of a chunk that holds `data`."""
        size = memoryview(data).nbytes
        return cls(size, highway_hash64(data), chunk_type, num_records, decoded_data_size)

    def pack(self) -> bytes:
        """Return the 40 bytes of this header, its own hash included."""
        type_and_count = self.chunk_type | self.num_records << 8
        body = _BODY.pack(self.data_size, self.data_hash, type_and_count, self.decoded_data_size)
        return _HASH.pack(highway_hash64(body)) + body

    @classmethod
    def parse(cls, raw: Buffer) -> ChunkHeader:
        """Return the header in the 40 bytes `raw`.

        Raises:
            DamagedError: the header's hash does not match, or `raw` is not 40 bytes long.
        """
        view = memoryview(raw)
        if len(view) != blocks.CHUNK_HEADER_SIZE:
            raise DamagedError(f"a chunk header has {blocks.CHUNK_HEADER_SIZE} bytes, got {len(view)}")
        body = view[8:]
        if _HASH.unpack_from(view)[0] != highway_hash64(body):
            raise DamagedError("the hash of a chunk header does not match")
        data_size, data_hash, type_and_count, decoded_data_size = _BODY.unpack(body)
        return cls(data_size, data_hash, type_and_count & 255, type_and_count >> 8, decoded_data_size)

    def end(self, begin: int) -> int:
        """Return the file position where the chunk ends if it begins at `begin`."""
        return blocks.chunk_end(begin, self.data_size, self.num_records)

    def validate(self) -> None:
        """Check the counts that the chunk type demands.

        Raises:
            DamagedError: a count is not what the type allows, or the type is unknown and has records.
        """
        counts = (self.data_size, self.num_records, self.decoded_data_size)
        name = repr(chr(self.chunk_type))
        if self.chunk_type == SIGNATURE and counts != (0, 0, 0):
            raise DamagedError(f"a signature chunk is empty, got data_size, num_records, decoded_data_size {counts}")
        if self.chunk_type == PADDING and counts[1:] != (0, 0):
            raise DamagedError(f"a padding chunk has no records, got {counts[1:]}")
        if self.chunk_type == METADATA and self.num_records:
            raise DamagedError(f"a metadata chunk has no records, got {self.num_records}")
        if self.chunk_type not in (SIGNATURE, METADATA, PADDING, SIMPLE, TRANSPOSED) and self.num_records:
            raise DamagedError(f"{self.num_records} records are in a chunk of unknown type {name}")


def frame_chunk(begin: int, header: ChunkHeader, data: Buffer) -> bytes:
    """Return the file bytes of the chunk `header` + `data` that begins at `begin`, padding included.

    >>> frame_chunk(0, ChunkHeader.describe(b"", chunk_type=SIGNATURE), b"")[:8].hex()
    '83af70d10d884a3f'
    """
    return blocks.frame(begin, header.end(begin), header.pack(), data)
