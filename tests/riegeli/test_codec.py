"""Compressed buffers of all four codecs."""

import re
import sys

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.install import how_to_install
from rlds_kit.riegeli import codec, varint
from rlds_kit.riegeli.codec import Codec, Compression
from rlds_kit.riegeli.errors import DamagedError, MissingCodecError, OptionsError

CODECS = list(Codec)
COMPRESSED = [codec for codec in Codec if codec is not Codec.NONE]


def compress(data: bytes, codec_: Codec) -> bytes:
    """Return the compressed buffer of `data` at the codec's own level."""
    return codec.make_compressor(Compression(codec_))(data)


@given(st.sampled_from(CODECS), st.binary(max_size=2000), st.integers(1, 50))
def test_decompress_inverts_compress(which: Codec, data: bytes, times: int) -> None:
    """Bytes come back from every codec, the empty ones too."""
    assert codec.decompress(memoryview(compress(data * times, which)), which) == data * times


@pytest.mark.parametrize("which", COMPRESSED)
@pytest.mark.parametrize("data", [b"", b"a", b"abc" * 10_000])
def test_streams_that_end_early_or_late_are_damage(which: Codec, data: bytes) -> None:
    """A missing byte, a byte too many and a wrong size are each refused."""
    good = compress(data, which)
    size, start = varint.decode(good, 0)
    for bad in (good[:-1], good + b"\0", good[:start], b"", varint.encode(size + 1) + good[start:]):
        with pytest.raises(DamagedError):
            codec.decompress(memoryview(bad), which)


@pytest.mark.parametrize("which", COMPRESSED)
def test_a_stream_larger_than_announced_is_damage(which: Codec) -> None:
    """A stream that announces little and contains 16 MiB is not unpacked completely."""
    bomb = varint.encode(10) + compress(bytes(1 << 24), which)[4:]
    with pytest.raises(DamagedError):
        codec.decompress(memoryview(bomb), which)


@pytest.mark.parametrize("which", CODECS)
def test_sizes_above_the_ceiling_are_damage(which: Codec) -> None:
    """The announced size is compared with what the caller allows before anything is allocated."""
    with pytest.raises(DamagedError, match=r"(more|larger) than the 5"):
        codec.decompress(memoryview(compress(b"123456", which)), which, max_size=5)
    huge = varint.encode(2**63) + compress(b"123456", which)[1:]
    if which is not Codec.NONE:
        with pytest.raises(DamagedError, match="more than the"):
            codec.decompress(memoryview(huge), which)


@pytest.mark.parametrize("data", [b"", b"abc" * 1000])
def test_zstandard_frames_without_content_size_are_read(data: bytes) -> None:
    """C++ writers leave the size out of the frame's own header."""
    frame = zstandard.ZstdCompressor(write_content_size=False).compress(data)
    assert codec.decompress(memoryview(varint.encode(len(data)) + frame), Codec.ZSTD) == data


def test_two_zstandard_frames_are_damage() -> None:
    """A buffer contains exactly one frame."""
    frame = zstandard.ZstdCompressor().compress(b"abc")
    with pytest.raises(DamagedError):
        codec.decompress(memoryview(varint.encode(3) + frame * 2), Codec.ZSTD)
    with pytest.raises(DamagedError):
        codec.decompress(memoryview(varint.encode(6) + frame * 2), Codec.ZSTD)


def test_zstandard_window_log_is_honoured_and_read() -> None:
    """A frame with a window of 2**28 bytes is read although the library's own limit is lower."""
    packed = codec.make_compressor(Compression(Codec.ZSTD, 1, 28))(b"abc")
    stream = packed[1:]
    unsized = zstandard.ZstdCompressor(
        compression_params=zstandard.ZstdCompressionParameters.from_level(1, window_log=28, write_content_size=False)
    ).compress(b"abc")
    assert codec.decompress(memoryview(b"\x03" + stream), Codec.ZSTD) == b"abc"
    assert codec.decompress(memoryview(b"\x03" + unsized), Codec.ZSTD) == b"abc"


def test_large_brotli_windows_are_named() -> None:
    """A stream with the large-window extension is refused with the reason, on both sides."""
    with pytest.raises(DamagedError, match="window above 24 bits"):
        codec.decompress(memoryview(b"\x03\x11rest"), Codec.BROTLI)
    with pytest.raises(OptionsError, match="window_log:25"):
        codec.make_compressor(Compression(Codec.BROTLI, 6, 25))


@pytest.mark.parametrize(("which", "library"), [(Codec.BROTLI, "brotli"), (Codec.SNAPPY, "snappy")])
def test_a_missing_library_is_named_with_the_cure(which: Codec, library: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Errors of reading and writing without an optional library have the command to install it."""
    packed = compress(b"abc", which)
    monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(MissingCodecError, match=re.escape(how_to_install("compat"))):
        codec.decompress(memoryview(packed), which)
    with pytest.raises(MissingCodecError, match=library):
        codec.make_compressor(Compression(which))


def test_unknown_codec_is_damage() -> None:
    """A compression type that is none of the four is refused."""
    with pytest.raises(DamagedError, match="0x01"):
        codec.parse_codec(1)


def test_length_beyond_the_data_is_damage() -> None:
    """A length prefix is compared with what is left before anything is sliced."""
    with pytest.raises(DamagedError, match="3 bytes"):
        codec.take_length_prefixed(memoryview(b"\x03ab"), 0)
