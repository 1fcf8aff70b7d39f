"""The blocks of all episodes, as arrays, are those of the entries."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.loader.block_map import BlockMap, block_map
from rlds_kit.loader.source import Source
from rlds_kit.storage import located
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_table import from_message, table_of
from tests.loader.recording import plain, recorded

pytestmark = pytest.mark.skipif(located.native is None, reason="the C extension is left out")
BEYOND_53_BITS: Final = (1 << 60) + 1


@pytest.fixture(scope="module")
def source() -> Iterator[Source]:
    """The source of a recording: that its shard is a local file is all that is read of it here."""
    with recorded(plain(2)) as dataset:
        yield dataset.windows(1).source


def entry(number: int, cuts: Sequence[int], rows: int, position: int) -> EpisodeEntry:
    """An episode whose blocks end at these rows."""
    return EpisodeEntry(
        episode_id=number.to_bytes(16, "little"),
        start=position,
        end=position + 1,
        ending=0,
        rows=rows,
        blocks=np.arange(len(cuts)) + position,
        first_row=np.array([0, *cuts][: len(cuts)], np.int64),
        end_row=np.array(cuts, np.int64),
        content_digest=b"",
        is_cut=False,
    )


@st.composite
def shards(draw: st.DrawFn) -> list[list[EpisodeEntry]]:
    """Episodes of several shards: most are tiled, of some a block is missing or doubled, or they have too few rows."""
    found, number = [], 0
    for _ in range(draw(st.integers(1, 3))):
        episodes = []
        for _ in range(draw(st.integers(1, 5))):
            cuts = np.cumsum(draw(st.lists(st.integers(1, 200), min_size=1, max_size=4))).tolist()
            wrong = draw(st.sampled_from(["", "", "", "short", "long", "gap", "first", "empty"]))
            rows = cuts[-1] + {"short": -1, "long": 1}.get(wrong, 0)
            made = entry(number, cuts, rows, draw(st.sampled_from([0, 300, BEYOND_53_BITS])))
            if wrong == "gap" and len(cuts) > 1:
                made = replace(made, first_row=made.first_row + (np.arange(len(cuts)) == 1))
            elif wrong == "first":
                made = replace(made, first_row=made.first_row + (np.arange(len(cuts)) == 0), end_row=made.end_row + 1)
            elif wrong == "empty":
                made = replace(made, blocks=made.blocks[:0], first_row=made.first_row[:0], end_row=made.end_row[:0])
            episodes.append(made)
            number += 1
        found.append(episodes)
    return found


def is_tiled(one: EpisodeEntry) -> bool:
    """Whether each row is in exactly one block, in order."""
    firsts, ends = one.first_row.tolist(), one.end_row.tolist()
    return bool(ends) and [0, *ends[:-1]] == firsts and all(map(int.__lt__, firsts, ends)) and ends[-1] >= one.rows


def expected(entries: Sequence[EpisodeEntry]) -> list[tuple[Any, ...]]:
    """Of every block: episode, position, first row, end row, id, base, rows."""
    bases = np.cumsum([0, *(one.rows for one in entries)]).tolist()
    return [
        (number, *block, one.episode_id, bases[number], one.rows)
        for number, one in enumerate(entries)
        if is_tiled(one)
        for block in zip(one.blocks.tolist(), one.first_row.tolist(), one.end_row.tolist(), strict=True)
    ]


def mapped(source: Source, entries: Entries) -> BlockMap:
    """The map of these entries."""
    found = block_map(replace(source, entries=entries))
    assert found is not None
    return found


@given(shards=shards(), data=st.data())
def test_blocks_are_those_of_the_entries(source: Source, shards: list[list[EpisodeEntry]], data: st.DataObject) -> None:
    """Of tables from an index, whose numbers have the fewest bytes, and of others; in any order, also some alone."""
    tables = [table_of(each) for each in shards]
    tables = [from_message(each.to_message(0)) if data.draw(st.booleans()) else each for each in tables]
    total = sum(map(len, shards))
    order = data.draw(st.none() | st.lists(st.integers(0, total - 1), min_size=1, max_size=8))
    entries = Entries(tables, None if order is None else np.array(order))
    found, chosen = mapped(source, entries), [*entries]
    blocks = np.arange(len(found))
    places = found.places(blocks)
    assert [*zip(
        found.episode.tolist(),
        *(places[name].tolist() for name in ("position", "first_row", "end_row")),
        [one.tobytes() for one in places["episode_id"]],
        found.base(blocks).tolist(),
        found.rows(blocks).tolist(),
        strict=True,
    )] == expected(chosen)  # fmt: skip
    assert found.mapped.tolist() == [*map(is_tiled, chosen)]
    assert found.table(blocks).tolist() == entries.tables_of()[found.episode].tolist()
    assert (found.first_steps() == found.base(blocks) + places["first_row"]).all()
    assert (found.row_counts() == places["end_row"] - places["first_row"]).all()


def test_a_block_takes_little_memory(source: Source) -> None:
    """Many short episodes have a block each: what is stored for all of them has the fewest bytes."""
    count = 1000
    table = from_message(table_of([entry(number, [2], 2, number) for number in range(count)]).to_message(0))
    found = mapped(source, Entries([table]))
    arrays = (found.episode, found.position, found.first_row, found.end_row, found.tables, found.mapped)
    assert sum(each.nbytes for each in arrays) <= 16 * count
