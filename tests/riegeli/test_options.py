"""Option strings of both vintages."""

import pytest

from rlds_kit.riegeli.codec import Codec, Compression
from rlds_kit.riegeli.errors import OptionsError
from rlds_kit.riegeli.options import WriterOptions, parse_options


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", WriterOptions()),
        ("default", WriterOptions(compression=Compression(Codec.BROTLI, 6))),
        (",default,,transpose,", WriterOptions(transpose=True)),
        ("transpose:true", WriterOptions(transpose=True)),
        ("transpose:false", WriterOptions()),
        ("uncompressed", WriterOptions(compression=Compression(Codec.NONE))),
        ("brotli:", WriterOptions()),
        ("brotli:11,window_log:10", WriterOptions(compression=Compression(Codec.BROTLI, 11, 10))),
        ("zstd", WriterOptions(compression=Compression(Codec.ZSTD, 3))),
        ("zstd:-131072,window_log:31", WriterOptions(compression=Compression(Codec.ZSTD, -131072, 31))),
        ("zstd:22,window_log:auto", WriterOptions(compression=Compression(Codec.ZSTD, 22))),
        ("snappy", WriterOptions(compression=Compression(Codec.SNAPPY, 1))),
        ("snappy:2", WriterOptions(compression=Compression(Codec.SNAPPY, 2))),
        ("brotli_encoder:cbrotli", WriterOptions()),
        ("chunk_size:auto", WriterOptions()),
        ("chunk_size:1.5M", WriterOptions(chunk_size=3 << 19)),
        ("chunk_size:100k", WriterOptions(chunk_size=100 << 10)),
        ("chunk_size:7B", WriterOptions(chunk_size=7)),
        ("bucket_fraction:0.05", WriterOptions(bucket_fraction=0.05)),
        ("padding", WriterOptions(initial_padding=65536, final_padding=65536)),
        ("padding:4K", WriterOptions(initial_padding=4096, final_padding=4096)),
        ("padding:,initial_padding:1", WriterOptions(initial_padding=1, final_padding=65536)),
        ("final_padding", WriterOptions(final_padding=65536)),
        ("pad_to_block_boundary", WriterOptions(initial_padding=65536, final_padding=65536)),
        ("pad_to_block_boundary:false", WriterOptions()),
        ("parallelism:3", WriterOptions(parallelism=3)),
    ],
)
def test_valid_options(text: str, expected: WriterOptions) -> None:
    """Every key has the meaning in Riegeli's documentation, in any order but `default` first."""
    assert parse_options(text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fast", "unknown option 'fast'"),
        ("zstd,zstd:3", "'zstd' appears twice"),
        ("zstd,default", "'default' must come first"),
        ("default:1", "'default' takes no value"),
        ("zstd,brotli", "'brotli' and 'zstd' exclude"),
        ("uncompressed,snappy", "exclude"),
        ("uncompressed:0", "'uncompressed' takes no value"),
        ("brotli:12", "integer from 0 to 11, got '12'"),
        ("zstd:23", "-131072 to 22"),
        ("zstd:x", "got 'x'"),
        ("snappy:3", "1 to 2"),
        ("transpose:yes", "true or false, got 'yes'"),
        ("window_log", "'window_log' takes"),
        ("brotli,window_log:31", "10 to 30"),
        ("zstd,window_log:9", "10 to 31"),
        ("snappy,window_log:20", "no meaning for codec snappy"),
        ("brotli_encoder:fast", "rbrotli_or_cbrotli"),
        ("chunk_size", "positive size"),
        ("chunk_size:0", "positive size"),
        ("chunk_size:1X", "positive size"),
        ("chunk_size:8E", "positive size"),
        ("chunk_size:-1", "positive size"),
        ("bucket_fraction:1.1", "0 to 1"),
        ("bucket_fraction:nan", "0 to 1"),
        ("bucket_fraction", "0 to 1"),
        ("padding:0", "positive size"),
        ("pad_to_block_boundary:1", "true or false"),
        ("parallelism:-1", "at least 0"),
    ],
)
def test_invalid_options_are_named(text: str, message: str) -> None:
    """The error names the key, the allowed values and the given one."""
    with pytest.raises(OptionsError, match=message):
        parse_options(text)


@pytest.mark.parametrize(
    ("text", "expected"), [("", 1 << 20), ("uncompressed", 4 << 10), ("uncompressed,chunk_size:5", 5)]
)
def test_desired_chunk_size(text: str, expected: int) -> None:
    """1 MiB compressed and 4 KiB uncompressed, unless set by the options."""
    assert parse_options(text).desired_chunk_size == expected
