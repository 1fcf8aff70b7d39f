"""Compressed buffers: a size, then one compressed stream.

"Chunk data" of https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md

Brotli and Snappy come with the extra `compat`; Zstandard is always there.
"""

from __future__ import annotations

import enum
import importlib
import threading
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import zstandard

from rlds_kit.install import how_to_install
from rlds_kit.riegeli import varint
from rlds_kit.riegeli.errors import DamagedError, MissingCodecError, OptionsError

MAX_DECODED_SIZE = 1 << 31
"""The largest buffer that is decompressed unless the caller sets another limit, in bytes."""

MISSING_CODEC = "{codec} compression needs the {library} package: " + how_to_install("compat")
LARGE_WINDOW = "a Brotli stream uses a window above 24 bits, which the brotli package cannot read"

_MAX_BROTLI_WINDOW_LOG = 24


class Codec(enum.IntEnum):
    """The byte that names a compression format in a chunk."""

    NONE = 0
    BROTLI = ord("b")
    ZSTD = ord("z")
    SNAPPY = ord("s")


@dataclass(frozen=True, slots=True)
class Compression:
    """A codec with its level and the logarithm of its window; None is the codec's own choice."""

    codec: Codec
    level: int | None = None
    window_log: int | None = None


UNCOMPRESSED = Compression(Codec.NONE)


def parse_codec(value: int) -> Codec:
    """Return the codec that byte `value` names.

    Raises:
        DamagedError: it names none.
    """
    try:
        return Codec(value)
    except ValueError:
        raise DamagedError(f"compression type {value:#04x} is unknown; expected 0, 'b', 'z' or 's'") from None


def _require(library: str, codec: str) -> Any:  # the compression libraries have no type information
    try:
        return importlib.import_module(library)
    except ImportError as error:
        raise MissingCodecError(MISSING_CODEC.format(codec=codec, library=library)) from error


def make_compressor(compression: Compression) -> Callable[[bytes], bytes]:
    """Return the function that makes a compressed buffer of bytes. It is for one thread at a time.

    Raises:
        MissingCodecError: the codec's library is not installed.
        OptionsError: the library does not support these options.

    >>> make_compressor(Compression(Codec.NONE))(b"abc")
    b'abc'
    """
    if compression.codec is Codec.NONE:
        return bytes
    compress = _STREAM_COMPRESSORS[compression.codec](compression)
    return lambda data: varint.encode(len(data)) + compress(data)


def _brotli_compressor(compression: Compression) -> Callable[[bytes], bytes]:
    brotli = _require("brotli", "Brotli")
    window_log = compression.window_log or 22
    if window_log > _MAX_BROTLI_WINDOW_LOG:
        raise OptionsError(f"the brotli package writes windows up to 24 bits, got window_log:{window_log}")
    level = 6 if compression.level is None else compression.level
    return lambda data: bytes(brotli.compress(data, quality=level, lgwin=window_log))


def _zstd_compressor(compression: Compression) -> Callable[[bytes], bytes]:
    level = compression.level or 3
    if compression.window_log is None:
        return zstandard.ZstdCompressor(level=level).compress
    params = zstandard.ZstdCompressionParameters.from_level(level, window_log=compression.window_log)
    return zstandard.ZstdCompressor(compression_params=params).compress


def _snappy_compressor(_compression: Compression) -> Callable[[bytes], bytes]:
    snappy = _require("snappy", "Snappy")
    return lambda data: bytes(snappy.compress(data))


_STREAM_COMPRESSORS: dict[Codec, Callable[[Compression], Callable[[bytes], bytes]]] = {
    Codec.BROTLI: _brotli_compressor,
    Codec.ZSTD: _zstd_compressor,
    Codec.SNAPPY: _snappy_compressor,
}


def decompress(data: memoryview, codec: Codec, *, max_size: int = MAX_DECODED_SIZE) -> bytes:
    """Return the bytes that compressed buffer `data` holds, at most `max_size` of them.

    Raises:
        DamagedError: the stream is broken, does not decode to the size it announces, does not end where
            `data` ends, or announces more than `max_size` bytes.
        MissingCodecError: the codec's library is not installed.

    >>> decompress(memoryview(make_compressor(Compression(Codec.ZSTD))(b"abc")), Codec.ZSTD)
    b'abc'
    """
    if codec is Codec.NONE:
        if len(data) > max_size:
            raise DamagedError(f"a buffer of {len(data)} bytes is larger than the {max_size} it may have")
        return bytes(data)
    size, start = varint.decode(data, 0)
    if size > max_size:
        raise DamagedError(f"a compressed buffer announces {size} bytes, more than the {max_size} it may have")
    decoded = _STREAM_DECOMPRESSORS[codec](data[start:], size)
    if len(decoded) != size:
        raise DamagedError(f"a compressed buffer announces {size} bytes but decodes to {len(decoded)}")
    return decoded


def _brotli_decompress(stream: memoryview, size: int) -> bytes:
    brotli = _require("brotli", "Brotli")
    if len(stream) and stream[0] == 0x11:
        raise DamagedError(LARGE_WINDOW)
    decoder = brotli.Decompressor()
    try:
        # The library may overshoot the limit by up to a factor of two, never more.
        decoded = bytes(decoder.process(stream, output_buffer_limit=size + 1))
        while not decoder.is_finished() and len(decoded) <= size:
            more = decoder.process(b"", output_buffer_limit=size + 1 - len(decoded))
            if not more:
                raise DamagedError("a Brotli stream is cut short")
            decoded += more
    except brotli.error as error:
        raise DamagedError(f"a Brotli stream is broken: {error}") from error
    return decoded


class _PerThread(threading.local):
    """A decompressor may not be shared between threads, and is too slow to create for every buffer."""

    def __init__(self) -> None:
        self.zstd = zstandard.ZstdDecompressor(max_window_size=1 << 31)


_per_thread = _PerThread()


def _zstd_decompress(stream: memoryview, size: int) -> bytes:
    try:
        announced = zstandard.frame_content_size(stream)
        if announced not in (-1, size):
            raise DamagedError(f"a Zstandard frame announces {announced} bytes, expected {size}")
        if size == 0:
            return _zstd_decompress_nothing(stream)
        return _per_thread.zstd.decompress(stream, max_output_size=size, allow_extra_data=False)
    except zstandard.ZstdError as error:
        raise DamagedError(f"a Zstandard frame is broken: {error}") from error


def _zstd_decompress_nothing(stream: memoryview) -> bytes:
    """Check that `stream` is one whole frame. The one-shot call would not check a frame of size 0."""
    decoder = _per_thread.zstd.decompressobj()
    decoded = decoder.decompress(stream)
    if not decoder.eof or decoder.unused_data:
        raise DamagedError("a Zstandard frame is cut short or followed by other bytes")
    return decoded


def _snappy_decompress(stream: memoryview, size: int) -> bytes:
    snappy = _require("snappy", "Snappy")
    announced, _ = varint.decode(stream, 0, bits=32)
    if announced != size:
        raise DamagedError(f"a Snappy block announces {announced} bytes, expected {size}")
    try:
        return bytes(snappy.uncompress(stream))
    except Exception as error:  # the library's releases raise different types for the same broken block
        raise DamagedError(f"a Snappy block is broken: {error}") from error


_STREAM_DECOMPRESSORS: dict[Codec, Callable[[memoryview, int], bytes]] = {
    Codec.BROTLI: _brotli_decompress,
    Codec.ZSTD: _zstd_decompress,
    Codec.SNAPPY: _snappy_decompress,
}


def take_length_prefixed(data: memoryview, position: int) -> tuple[memoryview, int]:
    """Return the buffer at `position` whose byte length precedes it, and the position after it.

    Raises:
        DamagedError: the length reaches beyond `data`.
    """
    size, start = varint.decode(data, position)
    if size > len(data) - start:
        raise DamagedError(f"a buffer of {size} bytes is announced where {len(data) - start} bytes are left")
    return data[start : start + size], start + size
