"""The digest of an episode is the hashes that `rlds_kit.storage.digest` describes, computed here in the plain way."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
import xxhash
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import digest
from rlds_kit.storage.column import Column
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.leaf import ColumnKey

RANK: int = 1
KEY = ColumnKey("x", pb.ARRAY, np.dtype("<f4"), RANK)
Block = tuple[list[int], int | None]
"""Numbers of rows, and the one size of their vectors; None: different sizes."""


@st.composite
def _blocks(draw: st.DrawFn) -> list[Block]:
    """Blocks of rows, some with gaps."""
    found, at = list[Block](), draw(st.integers(0, 2))
    for _ in range(draw(st.integers(1, 5))):
        steps = draw(
            st.one_of(st.integers(1, 6).map(lambda count: [1] * count), st.lists(st.integers(1, 3), max_size=6))
        )
        rows = [at := at + step for step in steps]
        if rows:
            found.append((rows, draw(st.sampled_from([0, 2, 2, 2, 3, None]))))
    return found or [([0], 1)]


def _column(rows: Sequence[int], size: int | None) -> Column:
    sizes = [row % 3 for row in rows] if size is None else [size] * len(rows)
    values = np.arange(sum(sizes), dtype=np.float32) + rows[0]
    numbers = np.array(rows, np.int64)
    if size is None:
        return Column(KEY, numbers, values, np.array(sizes, np.int64).reshape(-1, RANK))
    return Column(KEY, numbers, values.reshape(len(rows), size))


def _plain(columns: Sequence[Column]) -> bytes:
    def number(value: int) -> bytes:
        return value.to_bytes(8, "little")

    rows = b"".join(number(int(row)) for column in columns for row in column.rows)
    shapes = b"".join(number(item.size) for column in columns for item in column.items())
    values = b"".join(column.values.tobytes() for column in columns)
    hashes = b"".join(map(xxhash.xxh3_128_digest, (rows, shapes, values)))
    head = number(1) + b"x" + number(pb.ARRAY) + number(7) + b"float32" + number(RANK)
    return xxhash.xxh3_128_digest(head + hashes + number(0) * 3)


@pytest.mark.parametrize("sizes", [{}, {"_PIECE": 2, "CACHED_ROWS": 3}])
@given(blocks=_blocks())
def test_a_digest_is_as_described(sizes: dict[str, Any], blocks: list[Block]) -> None:
    """Whether rows follow each other or have gaps, and whether shapes are equal or not, in short and long episodes."""
    columns = [_column(*block) for block in blocks]
    with pytest.MonkeyPatch.context() as patch:
        for name, size in sizes.items():
            patch.setattr(digest, name, size)
        computed = EpisodeDigest()
        for column in columns:
            computed.update([column])
        first = computed.digest(pb.EpisodeStart(), None)
        assert first == _plain(columns)
        assert computed.digest(pb.EpisodeStart(), None) == first
        more = _column([int(columns[-1].rows[-1]) + 1], 2)
        computed.update([more])
        assert computed.digest(pb.EpisodeStart(), None) == _plain([*columns, more])
