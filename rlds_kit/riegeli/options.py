"""Writer options as a string, such as `"transpose,zstd:6,chunk_size:1M"`.

https://github.com/google/riegeli/blob/master/doc/record_writer_options.md, and the spelling
`pad_to_block_boundary` of the releases before March 2026, which EnvLogger and ArrayRecord were built with.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

from rlds_kit.riegeli.blocks import BLOCK_SIZE
from rlds_kit.riegeli.codec import Codec, Compression
from rlds_kit.riegeli.errors import OptionsError

COMPRESSED_CHUNK_SIZE = 1 << 20
UNCOMPRESSED_CHUNK_SIZE = 4 << 10

_UNITS = {suffix: 1 << 10 * power for power, suffix in enumerate("BKMGTPE")} | {"": 1, "k": 1 << 10}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)([BkKMGTPE]?)")

# Key -> codec, level where none is given, levels allowed.
_CODECS: dict[str, tuple[Codec, int | None, range]] = {
    "uncompressed": (Codec.NONE, None, range(0)),
    "brotli": (Codec.BROTLI, 6, range(12)),
    "zstd": (Codec.ZSTD, 3, range(-131072, 23)),
    "snappy": (Codec.SNAPPY, 1, range(1, 3)),
}
_BROTLI_ENCODERS = ("rbrotli_or_cbrotli", "cbrotli", "rbrotli")
_WINDOW_LOGS = {Codec.BROTLI: range(10, 31), Codec.ZSTD: range(10, 32)}
DEFAULT_COMPRESSION = Compression(Codec.BROTLI, 6)


@dataclass(frozen=True, slots=True)
class WriterOptions:
    """How records become chunks. `chunk_size` None is the format's default for the codec, in bytes.

    `bucket_fraction` and `parallelism` (and the key `brotli_encoder`) are accepted because existing files and programs
    have them; they do not change what is written.
    """

    transpose: bool = False
    compression: Compression = DEFAULT_COMPRESSION
    chunk_size: int | None = None
    bucket_fraction: float = 1.0
    initial_padding: int = 1
    final_padding: int = 1
    parallelism: int = 0

    @property
    def desired_chunk_size(self) -> int:
        """Bytes of records that a chunk should not exceed."""
        if self.chunk_size is not None:
            return self.chunk_size
        return UNCOMPRESSED_CHUNK_SIZE if self.compression.codec is Codec.NONE else COMPRESSED_CHUNK_SIZE


def parse_options(text: str) -> WriterOptions:
    """Return the options that `text` spells.

    Raises:
        OptionsError: an unknown or repeated key, a bad value, or keys that exclude each other.

    >>> parse_options("zstd:6,chunk_size:1.5M").desired_chunk_size
    1572864
    """
    values = _split(text)
    options = WriterOptions(compression=_read_compression(values))
    for key, value in values.items():
        if key in _READERS:
            options = _READERS[key](options, key, value)
    return options


def _split(text: str) -> dict[str, str | None]:
    """Return the value of each key, None where there is no colon."""
    values: dict[str, str | None] = {}
    for item in filter(None, text.split(",")):
        key, colon, value = item.partition(":")
        if key not in _KEYS:
            raise OptionsError(f"unknown option {key!r} in {text!r}; expected one of {', '.join(sorted(_KEYS))}")
        if key in values:
            raise OptionsError(f"option {key!r} appears twice in {text!r}")
        if key == "default" and values:
            raise OptionsError(f"option 'default' must come first in {text!r}")
        values[key] = value if colon else None
    return values


def _read_compression(values: Mapping[str, str | None]) -> Compression:
    chosen = [key for key in _CODECS if key in values]
    if len(chosen) > 1:
        raise OptionsError(f"options {' and '.join(map(repr, chosen))} exclude each other")
    key = chosen[0] if chosen else "brotli"
    codec, default, levels = _CODECS[key]
    value = values.get(key)
    if codec is Codec.NONE:
        _refuse_value(key, value)
    level = _read_integer(key, value, levels.start, levels.stop - 1) if value else default
    return Compression(codec, level, _read_window_log(codec, values))


def _read_window_log(codec: Codec, values: Mapping[str, str | None]) -> int | None:
    if "window_log" not in values:
        return None
    value = values["window_log"]
    if value == "auto":
        return None
    if codec not in _WINDOW_LOGS:
        raise OptionsError(f"option 'window_log' has no meaning for codec {codec.name.lower()}, got {value!r}")
    allowed = _WINDOW_LOGS[codec]
    return _read_integer("window_log", value, allowed.start, allowed.stop - 1)


def _read_integer(key: str, value: str | None, low: int, high: int | None = None) -> int:
    wanted = f"an integer from {low} to {high}" if high is not None else f"an integer of at least {low}"
    if value is None or not re.fullmatch(r"-?[0-9]+", value):
        raise OptionsError(f"option {key!r} takes {wanted}, got {value!r}")
    number = int(value)
    if number < low or (high is not None and number > high):
        raise OptionsError(f"option {key!r} takes {wanted}, got {value!r}")
    return number


def _read_size(key: str, value: str | None) -> int:
    match = _SIZE.fullmatch(value or "")
    size = round(float(match[1]) * _UNITS[match[2]]) if match and math.isfinite(float(match[1])) else 0
    if not 1 <= size < 1 << 63:
        raise OptionsError(f"option {key!r} takes a positive size such as 4096, 100k or 1.5M, got {value!r}")
    return size


def _refuse_value(key: str, value: str | None) -> None:
    if value is not None:
        raise OptionsError(f"option {key!r} takes no value, got {value!r}")


def _read_switch(key: str, value: str | None) -> bool:
    if value not in (None, "true", "false"):
        raise OptionsError(f"option {key!r} takes true or false, got {value!r}")
    return value != "false"


def _default(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    _refuse_value(key, value)
    return options


def _transpose(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    return replace(options, transpose=_read_switch(key, value))


def _chunk_size(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    return options if value == "auto" else replace(options, chunk_size=_read_size(key, value))


def _bucket_fraction(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    try:
        fraction = float(value or "")
    except ValueError:
        fraction = -1.0
    if not 0 <= fraction <= 1:
        raise OptionsError(f"option {key!r} takes a number from 0 to 1, got {value!r}")
    return replace(options, bucket_fraction=fraction)


def _padding(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    """`padding` gives both; a side that has its own key as well is set by whichever comes later."""
    size = _read_size(key, value) if value else BLOCK_SIZE
    if key == "initial_padding":
        return replace(options, initial_padding=size)
    if key == "final_padding":
        return replace(options, final_padding=size)
    return replace(options, initial_padding=size, final_padding=size)


def _pad_to_block_boundary(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    size = BLOCK_SIZE if _read_switch(key, value) else 1
    return replace(options, initial_padding=size, final_padding=size)


def _brotli_encoder(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    if value not in _BROTLI_ENCODERS:
        raise OptionsError(f"option {key!r} takes one of {', '.join(_BROTLI_ENCODERS)}, got {value!r}")
    return options


def _parallelism(options: WriterOptions, key: str, value: str | None) -> WriterOptions:
    return replace(options, parallelism=_read_integer(key, value, 0))


_READERS: dict[str, Callable[[WriterOptions, str, str | None], WriterOptions]] = {
    "default": _default,
    "transpose": _transpose,
    "chunk_size": _chunk_size,
    "bucket_fraction": _bucket_fraction,
    "padding": _padding,
    "initial_padding": _padding,
    "final_padding": _padding,
    "pad_to_block_boundary": _pad_to_block_boundary,
    "parallelism": _parallelism,
    "brotli_encoder": _brotli_encoder,
}

_KEYS = frozenset(_READERS) | frozenset(_CODECS) | {"window_log"}
