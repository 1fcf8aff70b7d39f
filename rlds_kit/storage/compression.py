"""zstd, with compressors that are made once."""

import threading
from collections.abc import Sequence
from typing import Final

import zstandard

NOISE_LEVEL: Final = 2
"""For what has nothing but its distribution to go by: looking longer for repetitions finds bad ones."""
FAST_LEVEL: Final = 3
THOROUGH_LEVEL: Final = 5

_local = threading.local()


def compressor(level: int) -> zstandard.ZstdCompressor:
    """One per thread: they are not safe to share, and slow to make.

    A frame says how large its content is: then it is decompressed to where it goes, and not copied there.
    """
    compressors: dict[int, zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    if level not in compressors:
        compressors[level] = zstandard.ZstdCompressor(level=level)
    return compressors[level]


def compress(parts: Sequence[bytes | memoryview], level: int) -> bytes:
    """One frame of parts that have little in common: each is compressed in blocks of its own."""
    if len(parts) == 1:
        return compressor(level).compress(parts[0])
    frame = compressor(level).compressobj(size=sum(map(len, parts)))
    ended = (frame.compress(part) + frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in parts[:-1])
    return b"".join((*ended, frame.compress(parts[-1]), frame.flush()))


def decompress_into(compressed: bytes | memoryview, out: memoryview, *, is_all: bool) -> None:
    """Fills `out` with what was compressed, or with the beginning of it.

    Raises:
      ValueError: there is less, or more although `out` is to have all.
      zstandard.ZstdError: the bytes are not zstd's.
    """
    with decompressor().stream_reader(compressed) as reader:  # asked for nothing, it makes an error of it
        if (len(out) and reader.readinto(out) != len(out)) or (is_all and reader.read(1)):
            raise ValueError(f"{len(out)} bytes were announced, but not so many came")


def decompressor() -> zstandard.ZstdDecompressor:
    """One per thread, too."""
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    return _local.decompressor  # type: ignore[no-any-return]
