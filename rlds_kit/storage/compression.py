"""zstd compression with cached compressors."""

import threading
from collections.abc import Sequence
from typing import Any, Final

import zstandard

NO_LEVEL: Final = 0
"""The level that stands for data that are stored uncompressed."""
NOISE_LEVEL: Final = 2
"""The level for data that only compress by the distribution of their bytes: a longer search for repetitions makes them
larger."""
FAST_LEVEL: Final = 3
THOROUGH_LEVEL: Final = 5

HAS_MULTI_COMPRESS: Final = zstandard.backend == "cext"
"""Whether `multi_compress_to_buffer` is implemented: the backend in cffi raises an error."""
_MOST_TOGETHER: Final = 1 << 20
"""Bytes of an input up to which it is compressed together with others: those frames are copied once more."""

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


def compress_each(inputs: Sequence[tuple[Sequence[bytes | memoryview], int]]) -> list[bytes]:
    """Compresses inputs, each of them parts and a level, into frames of their own, with few calls of zstd.

    >>> frames = compress_each([((b"a" * 99,), FAST_LEVEL), ((b"b" * 99,), FAST_LEVEL)])
    >>> [decompressor().decompress(frame)[:1] for frame in frames]
    [b'a', b'b']
    """
    frames, alike = [b""] * len(inputs), dict[int, list[int]]()
    for at, (parts, level) in enumerate(inputs):
        if len(parts) == 1 and len(parts[0]) <= _MOST_TOGETHER:
            alike.setdefault(level, []).append(at)
        else:
            frames[at] = compress(parts, level)
    for level, numbers in alike.items():
        for at, frame in zip(numbers, _compress_alike([inputs[at][0][0] for at in numbers], level), strict=True):
            frames[at] = frame
    return frames


def _compress_alike(inputs: list[bytes | memoryview], level: int) -> list[bytes]:
    if not HAS_MULTI_COMPRESS or len(inputs) == 1 or not any(map(len, inputs)):  # it raises if all inputs are empty
        return [compressor(level).compress(each) for each in inputs]
    together: Any = compressor(level)  # the stub allows fewer types of inputs
    found = together.multi_compress_to_buffer(inputs)
    return [found[at].tobytes() for at in range(len(found))]


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
