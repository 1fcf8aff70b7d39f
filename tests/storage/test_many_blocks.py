"""Columns of many blocks that are read with few calls: the same stacks as of blocks that are read one by one."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit.base.errors import DamagedError
from rlds_kit.logger.episode_writer import EpisodeWriter
from rlds_kit.storage import episode_reader, located, many_blocks
from rlds_kit.storage.episode_reader import Wanted, everything, fields
from rlds_kit.storage.many_blocks import read_many
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.restore import Stack

pytestmark = pytest.mark.skipif(located.native is None, reason="the C extension is left out")

ROWS, BLOCK = 60, 5
NAMES = ("observation", "action", "reward", "image", "text", "kind", "late", "rare", "gone", "shape", "mixed", "number")


def observation(row: int) -> dict[str, Any]:
    """A nest of arrays; with a part that only later rows have, and one that is no array."""
    found = {
        "b": np.full(3, row, np.float32),
        "a": row,
        "same": 1.5,
        "info": {"n": np.int16(row), "text": f"row {row}"},
    }
    return found | ({"more": row * 2} if row >= ROWS // 2 else {})


def fields_of(row: int) -> dict[str, Any]:
    """Fields with a value in every row, and others."""
    found: dict[str, Any] = {
        "image": np.full((200, 300), row, np.uint8),  # too heavy
        "text": "abc",
        "kind": row if row < 42 else float(row),
        "number": row if row < 21 else np.int64(row),
        "mixed": f"row {row}" if row < 21 else {"a": row},
        "shape": np.arange(3 if row < 42 else 4),
    }
    if row >= 33:
        found["late"] = row
    if row % 7 == 0:
        found["rare"] = np.float64(row)
    if row < 20 or row > 40:
        found["gone"] = row
    return found


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A dataset of one episode of many blocks."""
    directory = tmp_path_factory.mktemp("many") / "data"
    with EpisodeWriter(directory, policy=FlushPolicy(block_rows=BLOCK), record_time=False) as writer:
        episode = writer.episode()
        episode.start(observation(0), **fields_of(0))
        for row in range(1, ROWS):
            episode.step(
                action=np.arange(2) + row, reward=float(row % 3), observation=observation(row), **fields_of(row)
            )
        episode.end(rlds_kit.EpisodeEnd.TRUNCATED)
    return directory


def stacks(path: Path, begin: int, end: int, wanted: Wanted, last: int | None = None) -> dict[str, Stack]:
    """Reads some rows of a newly opened dataset."""
    return rlds_kit.open(path).source().reader(0).stacks(begin, end, wanted, last=last)


def contents(found: dict[str, Stack], rows: int) -> list[tuple[Any, ...]]:
    """The leaves with a value, in order; rows that were requested."""
    made = []
    for name, stack in found.items():
        values, present = (each[:rows] for each in stack.result())
        exact, _ = (each[:rows] for each in stack.exact())
        if present.any():
            made.append(
                (name, values.dtype, repr(values.tolist()), present.tolist(), [(type(e), str(e)) for e in exact])
            )
    return made


@st.composite
def ranges(draw: st.DrawFn) -> tuple[int, int, int | None]:
    """First row, one past the last, and perhaps the last row that is needed."""
    begin = draw(st.integers(0, ROWS - 1))
    end = draw(st.integers(begin + 1, ROWS))
    return begin, end, draw(st.none() | st.integers(begin, end - 1))


@given(ranges(), st.none() | st.lists(st.sampled_from((*NAMES, "observation/info", "observation/b", "nothing"))))
def test_stacks_are_those_of_single_blocks(
    path: Path, rows: tuple[int, int, int | None], names: list[str] | None
) -> None:
    """For any rows and fields: values, dtypes, types, which rows have one, and the order of leaves."""
    begin, end, last = rows
    wanted = everything if names is None else fields(names)
    count = (end if last is None else last + 1) - begin
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(episode_reader, "FEWEST", 1)
        many = contents(stacks(path, begin, end, wanted, last), count)
        patch.setattr(episode_reader, "FEWEST", ROWS)
        assert many == contents(stacks(path, begin, end, wanted, last), count)


def left(path: Path, wanted: Wanted, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The blocks that must be read in another way."""
    found: list[list[int]] = []

    def spied(*arguments: Any) -> list[int]:
        found.append(read_many(*arguments))
        return found[-1]

    monkeypatch.setattr(episode_reader, "read_many", spied)
    stacks(path, 0, ROWS, wanted)
    return found[-1]


@pytest.mark.parametrize(
    ("name", "blocks"),
    [
        ("action", []),
        ("reward", []),
        ("observation/b", []),
        ("observation", list(range(6, 12))),  # with another part
        ("kind", [8, 9, 10, 11]),  # the first of them has both kinds
        ("shape", [8, 9, 10, 11]),
        ("number", list(range(4, 12))),  # of the same dtype, but NumPy's
        ("gone", []),  # from a later row of the block on
        ("image", list(range(12))),  # heavy
        ("text", list(range(12))),
        ("mixed", list(range(12))),
        ("late", list(range(12))),  # the first block does not have it
    ],
)
def test_only_columns_like_those_of_the_first_block(
    path: Path, name: str, blocks: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Others are read one by one."""
    assert left(path, fields([name]), monkeypatch) == blocks


def test_large_blocks_after_a_small_one_are_read_one_by_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stored bytes of all blocks would be in memory together."""
    with EpisodeWriter(tmp_path / "data", policy=FlushPolicy(block_rows=BLOCK), record_time=False) as writer:
        episode = writer.episode()
        episode.start(np.zeros((200, 300), np.uint8))
        writer.flush()
        for row in range(1, ROWS):
            episode.step(0, 0.0, np.full((200, 300), row, np.uint8))
        episode.end(rlds_kit.EpisodeEnd.TRUNCATED)
    large = range(1, 12)  # the last one is small, too
    assert left(tmp_path / "data", fields(["observation"]), monkeypatch) == list(large)


@pytest.fixture
def damaged(path: Path, tmp_path: Path) -> Path:
    """A copy in which a byte of the column of rewards of block 7 was changed."""
    copy = tmp_path / "damaged"
    shutil.copytree(path, copy)
    reader = rlds_kit.open(path).source().reader(0)
    block = reader._layout(7)
    (column,) = block.columns(fields(["reward"]))
    position = int(reader._entry.blocks[7]) + block.payload_base + column.offset
    (shard,) = copy.glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    data[position + column.length - 1] ^= 1
    shard.write_bytes(data)
    return copy


def test_damage_is_an_error(damaged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the block that has it; other columns, and other rows, are read."""
    with pytest.raises(DamagedError, match="column reward does not match its checksum"):
        stacks(damaged, 0, ROWS, fields(["reward"]))
    assert len(stacks(damaged, 0, 34, fields(["reward"]))["reward"].present) == 34
    assert left(damaged, fields(["action"]), monkeypatch) == []
    assert many_blocks.FEWEST <= 34 // BLOCK  # else nothing of this is tested
