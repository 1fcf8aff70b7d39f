"""Finds and reads columns of many blocks with one call, in C. `EpisodeReader` reads whatever is not found here."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.extension import extension
from rlds_kit.storage.column_layout import ColumnLayout
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.shard_file import ShardFile

native: Final = extension("rlds_kit.storage", "_columns") if sys.byteorder == "little" else None
"""The C extension; without it nothing is found."""

STATUS, OFFSET, LENGTH, DECODED, CHECKSUM, FILTER, CODEC, FIRST_ROW, END_ROW, NUMBERS = range(10)
"""The last axis of `locate`'s result, and its length."""
ABSENT, FOUND, OTHER = range(3)
"""A status: there is no column; there is one; or `EpisodeReader` must look."""
MOST_LEAVES: Final = 64
MOST_RANK: Final = 8

PLACE: Final = np.dtype([("position", "<i8"), ("first_row", "<i8"), ("end_row", "<i8"), ("episode_id", "V16")])
"""A block: its position, and what its header should contain."""
REQUEST: Final = np.dtype(
    [("position", "<i8"), ("offset", "<i8"), ("length", "<i8"), ("to", "<i8"), ("checksum", "<i8")]
)
"""A part of a chunk: the position of the chunk, bytes before the part, its length, where it goes, its XXH3-64."""


@dataclass(frozen=True, slots=True)
class Wanted:
    """The columns of a leaf: numbers of this dtype and shape. Others are not found.

    Attributes:
      path: of the leaf.
      dtype: of the values.
      shape: of a value.
    """

    path: str
    dtype: np.dtype[Any]
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """The bytes of one value."""
        return math.prod(self.shape) * self.dtype.itemsize

    @property
    def is_findable(self) -> bool:
        """Whether columns of such values can be found."""
        is_number = self.dtype.kind in "biufc" and self.dtype.isnative
        return native is not None and is_number and self.row_bytes > 0 and len(self.shape) <= MOST_RANK

    def layout(self, numbers: np.ndarray) -> ColumnLayout:
        """The layout of a column that was found, from its `[NUMBERS]`."""
        _, offset, length, decoded, checksum, number, codec, first_row, end_row = numbers.tolist()
        return ColumnLayout(
            key=ColumnKey(self.path, pb.ARRAY, self.dtype, len(self.shape)),
            dtype=self.dtype,
            first_row=first_row,
            end_row=end_row,
            partial=False,
            ragged=False,
            shape=self.shape,
            row_bytes=self.row_bytes,
            filter=number,
            codec=codec,
            offset=offset,
            length=length,
            decoded_length=decoded,
            xxh3=checksum % (1 << 64),
            is_plain=True,
        )


def are_plain(numbers: np.ndarray, row_bytes: int) -> np.ndarray:
    """`[n]` bool, which columns that were found have rows as they are, from their `[n, NUMBERS]`."""
    rows = numbers[:, END_ROW] - numbers[:, FIRST_ROW]
    found: np.ndarray = (numbers[:, CODEC] == pb.STORED) & (numbers[:, FILTER] == pb.IDENTITY)
    found &= numbers[:, LENGTH] == rows * row_bytes
    return found


def are_repeated(numbers: np.ndarray, row_bytes: int) -> np.ndarray:
    """`[n]` bool, which columns that were found are one row that stands for all, from their `[n, NUMBERS]`."""
    found: np.ndarray = (numbers[:, CODEC] == pb.STORED) & (numbers[:, FILTER] == pb.REPEAT)
    found &= numbers[:, LENGTH] == row_bytes
    return found


def locate(file: ShardFile, places: np.ndarray, wanted: Sequence[Wanted]) -> np.ndarray:
    """Finds columns.

    Args:
      file: a local shard.
      places: `[blocks]` of PLACE.
      wanted: at most `MOST_LEAVES`, all of which can be found.

    Returns:
      `[blocks, leaves, NUMBERS]` int64. Offsets are from the beginning of the chunk.
    """
    table = np.empty((len(places), len(wanted), NUMBERS), np.int64)
    if native is None:
        table[..., STATUS] = OTHER
    elif table.size:
        keys = tuple((each.path.encode(), each.dtype.name.encode(), each.row_bytes, each.shape) for each in wanted)
        native.locate(file.descriptor, np.ascontiguousarray(places), keys, table)
    return table


def read(file: ShardFile, requests: np.ndarray, out: np.ndarray, *, is_checked: bool) -> int:
    """Copies parts of chunks.

    Args:
      file: a local shard.
      requests: `[parts]` of REQUEST.
      out: `[bytes]` uint8.
      is_checked: whether to compare checksums: False only for bytes whose checksum was compared, or will be.

    Returns:
      How many could be read, and had the right checksum, before one had not.
    """
    if native is None or not len(requests):
        return 0
    done: int = native.read(file.descriptor, np.ascontiguousarray(requests), out, int(is_checked))
    return done
