"""Reads parts of a shard by position; thread-safe."""

import os
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final, TypeVar

import numpy as np

from rlds_kit.base import lock
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.remote.path import RemotePath
from rlds_kit.riegeli import blocks, codec, simple, varint
from rlds_kit.riegeli import chunk as chunks
from rlds_kit.riegeli.chunk import ChunkHeader
from rlds_kit.riegeli.chunk_reader import Chunk, read_chunk
from rlds_kit.riegeli.errors import DamagedError as RiegeliDamagedError
from rlds_kit.riegeli.recovery import ChunkDamage
from rlds_kit.storage import block
from rlds_kit.storage.block import PREFIX_BYTES, BlockPrefix, PrefixTooShortError
from rlds_kit.storage.place import Place
from rlds_kit.storage.regular import open_regular

T = TypeVar("T")

FIRST_READ: Final = blocks.CHUNK_HEADER_SIZE + blocks.BLOCK_HEADER_SIZE + PREFIX_BYTES
"""First bytes of a chunk: its header, and very likely the header of its block."""

_LARGE_READ: Final = 31 << 20
"""A smaller read needs fewer than 1,024 buffers for one system call, two for each block of the file, which all systems
with such calls support. A larger one is first compared with the size of the file."""


class ShardFile:
    """An open shard. Reads are positional, so that threads do not interfere. Closed when there are no more references.

    Attributes:
      path: of the file.
      remote: the reader of a remote file; None for a local file.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._lock = threading.Lock()
        self.remote = path.file() if isinstance(path, RemotePath) else None
        self._descriptor = -1 if self.remote is not None else open_regular(path)

    def __del__(self, close: Callable[[int], None] = os.close) -> None:  # at exit, `os` may be gone
        descriptor, self._descriptor = self.__dict__.get("_descriptor", -1), -1
        if descriptor >= 0:  # only if opening succeeded
            close(descriptor)

    @property
    def descriptor(self) -> int | None:
        """The file descriptor of a local file, valid as long as this object exists; None for a remote file."""
        return None if self.remote is not None else self._descriptor

    def read(self, begin: int, size: int) -> bytes:
        """Reads up to `size` bytes at file position `begin`; fewer only at the end of the file."""
        if size >= _LARGE_READ:  # a header may claim any size: memory is only allocated for bytes that exist
            size = max(0, min(size, self.size() - begin))
        if self.remote is not None:
            return self.remote.read_at(begin, size)
        raw = self._read(begin, size)
        while len(raw) < size and (more := self._read(begin + len(raw), size - len(raw))):
            raw += more
        return raw

    if hasattr(os, "pread"):

        def _read(self, begin: int, size: int) -> bytes:
            return os.pread(self._descriptor, size, begin)

    else:

        def _read(self, begin: int, size: int) -> bytes:
            with self._lock:
                os.lseek(self._descriptor, begin, os.SEEK_SET)
                return os.read(self._descriptor, size)

    def payload(self, begin: int, end: int, size: int) -> bytes | memoryview:
        """The payload among the file bytes `[begin, end)`, `size` bytes; fewer only at the end of the file."""
        if self.remote is None and hasattr(os, "preadv") and blocks.BLOCK_SIZE < end - begin < _LARGE_READ:
            buffer = np.empty(size, np.uint8).data
            if os.preadv(self._descriptor, [*blocks.scattered(buffer, begin, end)], begin) == end - begin:
                return buffer
        return blocks.unframe(self.read(begin, end - begin), begin)

    def sound(self, read: Callable[[], T], is_sound: Callable[[T], bool] = lambda _: True) -> T:
        """Calls `read` and returns its result; if a remote file is damaged, fetches it again and retries once."""
        return read() if self.remote is None else self.remote.sound(read, is_sound)

    def size(self) -> int:
        """Bytes in the file now."""
        return os.fstat(self._descriptor).st_size if self.remote is None else self.remote.size()

    def is_being_written(self) -> bool:
        """Whether some process of this machine has it open for writing; unknown, and False, for remote files."""
        return self.remote is None and lock.is_locked(self.path)

    def reaches(self, position: int) -> bool:
        """Whether the file has this many bytes by now."""
        return position <= self.size()

    def place(self, position: int) -> Place:
        """The position of a chunk, for error messages."""
        return Place(self.path, position)

    def record(self, position: int) -> bytes:
        """The record of the chunk at `position`, with verified hash.

        Raises:
          DamagedError: the chunk is damaged, or the file ends inside it.
        """
        return self.record_of(self.chunk(position))

    def chunk(self, position: int) -> Chunk:
        """The chunk at `position`, with verified hash.

        Raises:
          DamagedError: the chunk is damaged, or the file ends inside it.
        """
        try:
            chunk = self.sound(lambda: read_chunk(self, position))
        except ChunkDamage as damage:
            raise DamagedError(f"{self.place(position)}: {damage.message}; run `rlds-kit repair`") from damage
        if not isinstance(chunk, Chunk):
            raise DamagedError(f"{self.place(position)}: the file ends before the chunk does; run `rlds-kit repair`")
        return chunk

    def record_of(self, chunk: Chunk) -> bytes:
        """The record in a chunk that has one.

        Raises:
          DamagedError: the chunk's data are not one record.
        """
        header = chunk.header
        place = self.place(chunk.begin)
        if header.chunk_type != chunks.SIMPLE or header.num_records != 1:
            raise FormatError(f"{place}: expected a simple chunk of one record; the file is no rlds_kit shard")
        try:
            return simple.decode(chunk.data, 1, header.decoded_data_size)[0]
        except RiegeliDamagedError as error:
            raise DamagedError(f"{place}: {error.message}; run `rlds-kit repair`") from error


def read_prefix(file: ShardFile, position: int) -> tuple[ChunkHeader, int, bytes]:
    """The header of a chunk, the payload offset of its record, and the first bytes of that record.

    Raises:
      DamagedError: the chunk's header is damaged, or the file ends before it does.
    """
    return file.sound(lambda: _prefix(file, position))


def _prefix(file: ShardFile, position: int) -> tuple[ChunkHeader, int, bytes]:
    payload = blocks.unframe(file.read(position, FIRST_READ), position)
    place = file.place(position)
    try:
        header = ChunkHeader.parse(payload[: blocks.CHUNK_HEADER_SIZE])
        if header.chunk_type != chunks.SIMPLE or header.num_records != 1:
            raise FormatError(f"{place}: expected a simple chunk of one record; the file is no rlds_kit shard")
        at = blocks.CHUNK_HEADER_SIZE
        sizes_length, at = varint.decode(payload, at + 1)
        size, end = varint.decode(payload, at)
    except RiegeliDamagedError as error:
        raise DamagedError(f"{place}: {error.message}; run `rlds-kit repair`") from error
    consistent = end == at + sizes_length and size == header.decoded_data_size
    whole = end - blocks.CHUNK_HEADER_SIZE + size == header.data_size
    if payload[blocks.CHUNK_HEADER_SIZE] != codec.Codec.NONE or not consistent or not whole:
        raise DamagedError(f"{place}: the chunk's sizes contradict each other; run `rlds-kit repair`")
    return header, end, payload[end : end + size]


def read_block_prefix(file: ShardFile, position: int) -> BlockPrefix:
    """The header of the step block at `position`; `payload_base` is relative to the chunk's payload.

    Raises:
      DamagedError: chunk header or block header are damaged.
    """
    return file.sound(lambda: _block_prefix(file, position))


def _block_prefix(file: ShardFile, position: int) -> BlockPrefix:
    header, base, record = _prefix(file, position)
    try:
        is_block = block.is_block(record)
    except FormatError:
        file.chunk(position)  # raises DamagedError if a flipped bit changed its format
        raise
    if not is_block:
        raise DamagedError(f"{file.place(position)}: expected a step block; run `rlds-kit repair`")
    try:
        prefix = block.parse_prefix(record, file.place(position))
    except PrefixTooShortError as short:
        if short.needed > header.decoded_data_size:
            raise DamagedError(f"{file.place(position)}: the block header is longer than its block") from short
        try:
            prefix = block.parse_prefix(bytes(read_payload(file, position, base, short.needed)), file.place(position))
        except PrefixTooShortError as again:
            raise DamagedError(f"{file.place(position)}: the block header's size makes no sense") from again
    return BlockPrefix(prefix.header, base + prefix.payload_base)


def read_payload(file: ShardFile, position: int, offset: int, size: int) -> bytes | memoryview:
    """`size` bytes at payload offset `offset` of the chunk at `position`; not checked.

    Raises:
      DamagedError: the file ends before.
    """
    if size == 0:
        return b""
    begin = blocks.physical(position, offset)
    end = blocks.physical(position, offset + size - 1) + 1
    data = file.payload(begin, end, size)
    if len(data) != size:
        raise DamagedError(f"{file.place(position)}: the file ends before the chunk does; run `rlds-kit repair`")
    return data
