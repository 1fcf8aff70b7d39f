"""Columns of images, and what every filter of images must do with them."""

from unittest import mock

import numpy as np
import pytest
import xxhash
import zstandard

from rlds_kit import FormatError
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import column as columns
from rlds_kit.storage import column_encoder
from rlds_kit.storage.column import Column
from rlds_kit.storage.column_layout import layout_of
from rlds_kit.storage.compression import FAST_LEVEL
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.rows import Rows


class Always(FilterChoice):
    """The same for every column."""

    def __init__(self, choice: Choice) -> None:
        super().__init__()
        self._choice = choice

    def __call__(self, *_: object) -> Choice:
        """That."""
        return self._choice


def as_rows(frames: np.ndarray) -> Rows:
    """Frames as filters take them."""
    return frames.reshape(len(frames), -1)


def column_of(frames: np.ndarray, rows: list[int] | None = None) -> Column:
    """A column of frames, in all rows or in some."""
    key = ColumnKey("x", pb.ARRAY, frames.dtype, frames.ndim - 1)
    return Column(key, np.array(rows or range(len(frames))), frames)


def assert_comes_back(piece: Column, choice: Choice) -> None:
    """Fails unless a column is stored as was chosen, however little that saves, and read as it was."""
    with mock.patch.object(column_encoder, "WORTHWHILE_BYTES", -(1 << 31)):
        header, payload = column_encoder.encode(piece, Always(choice))
    assert header.filter == choice.filter
    read = columns.decode(layout_of(header, "here"), payload, "here")
    assert np.array_equal(read.values, piece.values)
    assert read.rows.tolist() == piece.rows.tolist()


def assert_the_first_rows_are_decoded_alone(until: int, choice: Choice) -> None:
    """Fails unless these are right; what comes after them does not matter."""
    frames = np.random.default_rng(0).integers(0, 16, (40, 40, 40, 3), np.uint8)
    header, payload = column_encoder.encode(column_of(frames), Always(choice))
    assert header.codec == pb.ZSTD
    out = np.zeros((40, 4800), np.uint8)
    columns.decode_into(layout_of(header, "here"), payload, "here", out[:until])
    assert np.array_equal(out[:until], as_rows(frames)[:until])
    begin = until // 2  # and rows that are not the first ones
    columns.decode_into(layout_of(header, "here"), payload, "here", out[: until - begin], begin)
    assert np.array_equal(out[: until - begin], as_rows(frames)[begin:until])


def assert_a_contradiction_is_refused(change: str, frames: np.ndarray, stored: bytes, choice: Choice) -> None:
    """Fails unless a large column is refused whose stored bytes, or header, were changed."""
    plain = bytearray(stored)
    header, _ = column_encoder.encode(column_of(frames), Always(choice))
    match change:
        case "no such mode":
            plain[7] = 200
        case "a byte too few":
            del plain[-1]
        case "a byte too many":
            plain += b"\0"
        case "other elements":
            header.dtype = "int16"
    payload = zstandard.ZstdCompressor(level=FAST_LEVEL).compress(bytes(plain))
    if change == "bytes behind the frame":
        payload += b"behind"
    header.codec, header.length, header.decoded_length = pb.ZSTD, len(payload), len(plain)
    header.xxh3 = xxhash.xxh3_64_intdigest(payload)
    layout = layout_of(header, "here")
    with pytest.raises(FormatError, match="here: column x"):
        columns.decode_into(layout, payload, "here", np.zeros((len(frames), layout.row_bytes), np.uint8))
