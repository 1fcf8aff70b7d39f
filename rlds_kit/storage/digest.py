"""The content digest of an episode: equal for equal content, independent of blocks and compression.

For each leaf, in the order of (path, kind, dtype, rank): XXH3-128 over the rows that have a value (uint64), over the
shapes (uint64), and over the values (C order, little-endian). The episode's digest is the XXH3-128 over all of these,
then the metadata, seed, options and ending. UUID, clock times, undefined values and block layout are left out. It
detects accidental changes, not forgery.
"""

from collections.abc import Iterable

import numpy as np
import xxhash

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import is_clock
from rlds_kit.spec import dtypes
from rlds_kit.storage.column import Column
from rlds_kit.storage.leaf import ColumnKey

Identity = tuple[str, int, str, int]


class _Leaf:
    """The three running hashes of one leaf."""

    def __init__(self) -> None:
        self.rows, self.shapes, self.values = xxhash.xxh3_128(), xxhash.xxh3_128(), xxhash.xxh3_128()

    def update(self, column: Column) -> None:
        self.rows.update(column.rows.astype("<u8", copy=False).data)
        if column.shapes is None:
            self.shapes.update(np.array(column.values.shape[1:], "<u8").tobytes() * len(column.rows))
        else:
            self.shapes.update(column.shapes.astype("<u8").tobytes())
        if column.values.size:
            self.values.update(dtypes.little_endian(column.values).reshape(-1).view(np.uint8).data)

    def digest(self) -> bytes:
        return self.rows.digest() + self.shapes.digest() + self.values.digest()


class EpisodeDigest:
    """Computes the digest from an episode's columns, which come in the order of rows for each leaf."""

    def __init__(self) -> None:
        self._leaves: dict[Identity, _Leaf] = {}

    def update(self, columns: Iterable[Column]) -> None:
        """Adds the columns of one block."""
        for column in columns:
            if not is_clock(column.key.path):
                self._leaves.setdefault(_identity(column.key), _Leaf()).update(column)

    def digest(self, start: pb.EpisodeStart, end: pb.EpisodeEnd | None) -> bytes:
        """16 bytes. `end` is None for an INCOMPLETE episode."""
        total = xxhash.xxh3_128()
        for identity in sorted(self._leaves):
            path, kind, dtype, rank = identity
            total.update(_framed(path.encode()) + _number(kind) + _framed(dtype.encode()) + _number(rank))
            total.update(self._leaves[identity].digest())
        for message in (start.metadata, start.seed, start.options):
            total.update(_framed(message.SerializeToString(deterministic=True)))
        if end is not None:
            total.update(_framed(end.metadata.SerializeToString(deterministic=True)))
            total.update(_number(end.rows) + bytes((end.ending, end.terminated, end.truncated)))
        return total.digest()


def combine(digests: Iterable[bytes]) -> bytes:
    """The digest of a dataset: over the sorted multiset of its episodes' digests."""
    return xxhash.xxh3_128_digest(b"".join(sorted(digests)))


def _identity(key: ColumnKey) -> Identity:
    return (key.path, key.kind, "" if key.dtype is None else dtypes.name_of(key.dtype, key.path), key.rank)


def _framed(data: bytes) -> bytes:
    return _number(len(data)) + data


def _number(number: int) -> bytes:
    return number.to_bytes(8, "little")
