"""Codecs of rlds_kit: what the recorder chooses, and each filter that it could choose."""

from collections import defaultdict
from collections.abc import Iterator
from typing import Any, Final

import numpy as np

from floats_side.codec import Codec
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder, filters
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.compression import FAST_LEVEL, compress, decompressor
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey

_SHUFFLES: Final = (pb.SHUFFLE, pb.XOR_SHUFFLE, pb.DELTA_SHUFFLE)


def recorder() -> Codec:
    """A column as the recorder stores it beside no other column, with its checksum and header."""
    choose: defaultdict[int, FilterChoice] = defaultdict(FilterChoice)  # by length of blocks: one choice lasts for many

    def encode(block: np.ndarray) -> Any:
        key = ColumnKey("x", pb.ARRAY, block.dtype, 1)
        return _Stored(*column_encoder.encode(Column(key, np.arange(len(block)), block), choose[len(block)]))

    def decode(stored: "_Stored", out: np.ndarray) -> None:
        columns.decode_into(stored.layout, stored.payload, "", out.view(np.uint8))

    return Codec("rlds_kit, the recorder", encode, decode)


class _Stored:
    def __init__(self, header: pb.Column, payload: bytes) -> None:
        self.layout, self.payload = layout_of(header, ""), payload

    def __len__(self) -> int:
        return len(self.payload)

    def __str__(self) -> str:
        codec = pb.Codec.Name(self.layout.codec).lower()
        return f"{pb.Filter.Name(self.layout.filter)}, {codec}"


def choice(block: np.ndarray) -> str:
    """The filter and the codec of the recorder."""
    return str(recorder().encode(block))


def candidates() -> Iterator[Codec]:
    """Ways to store a column with the filters of the format."""
    yield recorder()
    yield Codec("stored", np.ndarray.tobytes, _copy)
    for level in (1, FAST_LEVEL):
        yield _filtered(pb.IDENTITY, level, whole=True)
    yield _filtered(pb.XOR, FAST_LEVEL, whole=True)
    yield _filtered(pb.SPARSE_XOR, FAST_LEVEL, whole=True)
    for number in _SHUFFLES:
        yield _filtered(number, FAST_LEVEL, whole=True)
        yield _filtered(number, FAST_LEVEL, whole=False)
    yield _filtered(pb.SHUFFLE, 1, whole=False)


def _copy(stored: bytes, out: np.ndarray) -> None:
    out[...] = np.frombuffer(stored, out.dtype).reshape(out.shape)


def _filtered(number: int, level: int, *, whole: bool) -> Codec:
    """A filter and zstd.

    Args:
      number: of the filter.
      level: of zstd.
      whole: whether planes are compressed together; else each is compressed with blocks of its own.
    """

    def encode(block: np.ndarray) -> bytes:
        stored = b"".join(filters.APPLY[number](block.view(np.uint8), block.itemsize, block.shape[1:]))
        return compress([stored] if whole else np.split(np.frombuffer(stored, np.uint8), block.itemsize), level)

    def decode(stored: bytes, out: np.ndarray) -> None:
        plain = np.frombuffer(decompressor().decompress(stored), np.uint8)
        filters.undo(number, plain, out.itemsize, out.shape[1:], out.view(np.uint8))

    shuffled = number in _SHUFFLES
    name = f"{pb.Filter.Name(number)}, zstd {level}" if number else f"zstd {level}"
    return Codec(f"{name}{', each plane' if shuffled and not whole else ''}", encode, decode)
