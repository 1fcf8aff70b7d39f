"""zstd compression with cached compressors."""

import threading
from collections.abc import Sequence
from typing import Final

import zstandard

NO_LEVEL: Final = 0
"""The level that stands for data that are stored uncompressed."""
NOISE_LEVEL: Final = 2
"""The level for data that only compress by the distribution of their bytes: a longer search for repetitions makes them
larger."""
FAST_LEVEL: Final = 3
THOROUGH_LEVEL: Final = 5

_local = threading.local()


def compressor(level: int) -> zstandard.ZstdCompressor:
    """Returns a compressor, one per thread: they are not thread-safe, and slow to create.

    Frames contain the size of their content, so that they can be decompressed directly into an array.
    """
    compressors: dict[int, zstandard.ZstdCompressor] = _local.__dict__.setdefault("compressors", {})
    if level not in compressors:
        compressors[level] = zstandard.ZstdCompressor(level=level)
    return compressors[level]


def compress(parts: Sequence[bytes | memoryview], level: int) -> bytes:
    """Compresses parts that have little in common into one frame: each part gets its own blocks.

    Not at `THOROUGH_LEVEL`: of what shrinks so much, blocks would be most of the bytes.
    """
    if len(parts) == 1 or level == THOROUGH_LEVEL:
        return compressor(level).compress(parts[0] if len(parts) == 1 else b"".join(parts))
    frame = compressor(level).compressobj(size=sum(map(len, parts)))
    ended = (frame.compress(part) + frame.flush(zstandard.COMPRESSOBJ_FLUSH_BLOCK) for part in parts[:-1])
    return b"".join((*ended, frame.compress(parts[-1]), frame.flush()))


def decompress_into(compressed: bytes | memoryview, out: memoryview, *, is_all: bool) -> None:
    """Decompresses into `out`: all of the content, or its beginning.

    Raises:
      ValueError: the content is shorter, or longer although `out` should get all of it.
      zstandard.ZstdError: the bytes are not valid zstd.
    """
    with decompressor().stream_reader(compressed) as reader:  # zstd raises an error for an empty request
        if (len(out) and reader.readinto(out) != len(out)) or (is_all and reader.read(1)):
            raise ValueError(f"{len(out)} bytes were announced, but not so many came")


def decompressor() -> zstandard.ZstdDecompressor:
    """Returns a decompressor, one per thread too."""
    if not hasattr(_local, "decompressor"):
        _local.decompressor = zstandard.ZstdDecompressor()
    return _local.decompressor  # type: ignore[no-any-return]
