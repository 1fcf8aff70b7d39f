"""The episodes of a shard as columns."""

import uuid
from pathlib import Path
from typing import Any, Final

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError
from rlds_kit.spec import value
from rlds_kit.spec.message import to_message
from rlds_kit.storage.column import Column
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_table import EpisodeTable, from_message, table_of
from rlds_kit.storage.filter_choice import FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.plausible import ROWS_LIMIT
from rlds_kit.storage.shard_index import parse_index
from rlds_kit.storage.shard_writer import ShardWriter

DATA_END: Final = 1 << 47


def _stated(entry: EpisodeEntry) -> list[Any]:
    return [
        each.tolist() if isinstance(each, np.ndarray) else each
        for each in (getattr(entry, name) for name in EpisodeEntry.__slots__)
    ]


@st.composite
def entries(draw: st.DrawFn) -> EpisodeEntry:
    """An episode with rows of any size that a shard can have."""
    begins = sorted(draw(st.lists(st.integers(0, 1 << 40), unique=True, max_size=4)))
    positions = draw(st.lists(st.integers(64, DATA_END - 1), min_size=len(begins), max_size=len(begins)))
    ends = [*begins[1:], begins[-1] + draw(st.integers(1, 1000))] if begins else []
    return EpisodeEntry(
        episode_id=draw(st.binary(min_size=16, max_size=16)),
        start=draw(st.integers(0, DATA_END - 1)),
        end=draw(st.integers(0, DATA_END - 1)),
        ending=draw(st.integers(0, 4)),
        rows=draw(st.integers(0, len(begins) << 24)),
        blocks=np.array(sorted(positions), np.int64),
        first_row=np.array(begins, np.int64),
        end_row=np.array(ends, np.int64),
        content_digest=draw(st.just(b"") | st.binary(min_size=16, max_size=16).filter(any)),
    )


@given(st.lists(entries(), max_size=6))
def test_a_table_keeps_every_entry(found: list[EpisodeEntry]) -> None:
    stored = pb.ShardIndex(table=table_of(found).to_message(DATA_END))
    stored.header.spec.dict.SetInParent()
    table = parse_index(pb.ShardIndex.FromString(stored.SerializeToString()), "here").episodes
    assert list(map(_stated, table)) == list(map(_stated, found))
    assert list(map(_stated, table[::-1])) == list(map(_stated, found[::-1]))
    listed = [each for each in found if each.rows and each.ending != pb.DISCARDED]
    assert list(map(_stated, table.listed())) == list(map(_stated, listed))


@given(st.lists(st.lists(entries(), max_size=3), max_size=4), st.randoms())
def test_entries_of_several_tables_come_in_any_order(tables: list[list[EpisodeEntry]], random: Any) -> None:
    found = [each for table in tables for each in table]
    order = list(range(len(found)))
    random.shuffle(order)
    chosen = Entries([table_of(table) for table in tables])[np.array(order, np.int64)]
    assert list(map(_stated, chosen)) == [_stated(found[number]) for number in order]
    assert chosen.column("rows").tolist() == [found[number].rows for number in order]
    assert chosen.ids().tolist() == [found[number].episode_id for number in order]
    owners = [number for number, table in enumerate(tables) for _ in table]
    assert chosen.tables_of().tolist() == [owners[number] for number in order]
    assert [chosen.table(at) for at in range(len(order))] == chosen.tables_of().tolist()
    joined = Entries.joined([chosen, Entries([]), chosen])
    assert list(map(_stated, joined)) == [_stated(found[number]) for number in order + order]


def test_numbers_take_as_few_bytes_as_the_largest_needs() -> None:
    block, first, end = (np.array([number]) for number in (1 << 33, 0, 70_000))
    entry = EpisodeEntry(bytes(range(16)), 200, 300, 1, 70_000, block, first, end, b"")
    stored = table_of([entry]).to_message(1 << 34)
    assert [len(getattr(stored, name)) for name in ("start", "end", "rows", "block", "blocks")] == [1, 2, 4, 8, 1]


IMPLAUSIBLE: Final[dict[str, dict[str, Any]]] = {
    "ids that are cut": {"episode_id": bytes(17)},
    "a digest is missing": {"content_digest": b""},
    "numbers of three bytes": {"start": bytes(3)},
    "a number is missing": {"end": b""},
    "more blocks than positions": {"blocks": b"\x02"},
    "as many blocks as no file has": {"blocks": b"\xff" * 8},
    "a start beyond the data": {"start": b"\xff\xff"},
    "a block beyond the data": {"block": b"\xff\xff"},
    "more rows than blocks can have": {"rows": (1 << 25).to_bytes(4, "little")},
    "rows beyond any episode": {"end_row": ROWS_LIMIT.to_bytes(8, "little")},
    "first rows beyond any episode": {"first_row": ROWS_LIMIT.to_bytes(8, "little")},
}


@pytest.mark.parametrize("name", IMPLAUSIBLE)
def test_a_forged_table_is_damage(name: str) -> None:
    entry = EpisodeEntry(bytes(16), 64, 200, 1, 2, np.array([100]), np.array([0]), np.array([2]), bytes(range(16)))
    stored = pb.ShardIndex(table=table_of([entry]).to_message(300))
    stored.header.spec.dict.SetInParent()
    assert len(parse_index(stored, "here").episodes) == 1
    for field, data in IMPLAUSIBLE[name].items():
        setattr(stored.table, field, data)
    with pytest.raises(DamagedError, match="here: an index of episodes that cannot be"):
        parse_index(stored, "here")


@pytest.mark.parametrize(
    "change",
    [
        {"episode_id": b"short"},
        {"content_digest": b"short"},
        {"block": []},
        {"block": [100, 1 << 63]},
        {"end_row": [2, 3]},
    ],
)
def test_a_forged_message_of_an_older_index_is_damage(change: dict[str, Any]) -> None:
    fields: dict[str, Any] = {
        "episode_id": bytes(16),
        "start": 64,
        "rows": 2,
        "block": [100],
        "first_row": [0],
        "end_row": [2],
    }
    stored = pb.ShardIndex(data_end=300, episodes=[pb.EpisodeIndex(**fields)])
    stored.header.spec.dict.SetInParent()
    assert parse_index(stored, "here").episodes[0].blocks.tolist() == [100]
    with pytest.raises(DamagedError, match="here"):
        parse_index(
            pb.ShardIndex(header=stored.header, data_end=300, episodes=[pb.EpisodeIndex(**{**fields, **change})]),
            "here",
        )


@pytest.mark.parametrize("field", ["episode_id", "content_digest"])
def test_ids_and_digests_of_other_lengths_are_damage_even_if_their_sum_fits(field: str) -> None:
    fields: dict[str, Any] = {"rows": 2, "block": [100], "first_row": [0], "end_row": [2]}
    both: dict[str, Any] = {"episode_id": bytes(16), "content_digest": bytes(16)}
    episodes = [pb.EpisodeIndex(**fields, **(both | {field: bytes(length)})) for length in (8, 24)]
    stored = pb.ShardIndex(data_end=300, episodes=episodes)
    stored.header.spec.dict.SetInParent()
    with pytest.raises(DamagedError, match="here"):
        parse_index(stored, "here")


def test_an_empty_table_has_no_entries() -> None:
    table: EpisodeTable = from_message(table_of([]).to_message(64))
    assert (len(table), len(Entries([])), Entries([]).column("rows").tolist()) == (0, 0, [])


def _write(path: Path, keys: list[bytes], *, ended: bool) -> None:
    nothing = value.encode({})
    writer = ShardWriter(path, pb.ShardHeader(spec=to_message(specs.Dict({})), metadata=nothing, environment=nothing))
    for key in keys:
        writer.start(pb.EpisodeStart(episode_id=key, metadata=value.encode({"shard": path.stem})))
        column = Column(ColumnKey("observation", pb.INT, None, 0), np.arange(2), np.arange(2))
        writer.block(key, range(2), [column], FilterChoice())
        if ended:
            writer.end(pb.EpisodeEnd(episode_id=key, rows=2, ending=pb.TERMINATED, metadata=nothing))
    writer.close()


def test_a_dataset_lists_the_most_complete_of_two_copies_in_the_place_of_the_first(tmp_path: Path) -> None:
    """A writer that was killed may have left a part of an episode that another shard has complete."""
    keys = [uuid.UUID(int=number).bytes for number in (7, 7 << 64, (7 << 64) + 1)]
    _write(tmp_path / "episodes-a.riegeli", [*keys[:2], bytes(range(16))], ended=False)
    _write(tmp_path / "episodes-b.riegeli", [keys[1], keys[2], keys[0]], ended=True)
    found = rlds_kit.open(tmp_path).episodes
    assert [episode.id.bytes for episode in found] == [*keys[:2], bytes(range(16)), keys[2]]
    assert [episode.metadata["shard"][-1] for episode in found] == ["b", "b", "a", "b"]


def test_a_later_part_does_not_take_the_place_of_a_complete_episode(tmp_path: Path) -> None:
    key = bytes(range(16))
    _write(tmp_path / "episodes-a.riegeli", [key], ended=True)
    _write(tmp_path / "episodes-b.riegeli", [key], ended=False)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert (episode.metadata["shard"][-1], episode.end) == ("a", rlds_kit.EpisodeEnd.TERMINATED)


def test_known_episodes_keep_their_numbers(tmp_path: Path) -> None:
    """Also if a shard with an earlier name appears, or one with known episodes disappears."""
    keys = [uuid.UUID(int=number).bytes for number in range(1, 6)]
    _write(tmp_path / "episodes-c.riegeli", keys[:2], ended=True)
    _write(tmp_path / "episodes-d.riegeli", keys[2:3], ended=True)
    dataset = rlds_kit.open(tmp_path)
    view = dataset.take([2, 0])
    _write(tmp_path / "episodes-a.riegeli", keys[3:], ended=True)
    assert [episode.id.bytes for episode in dataset.refresh().episodes] == keys
    assert [episode.id.bytes for episode in view.refresh().episodes] == [keys[2], keys[0]]
    (tmp_path / "episodes-d.riegeli").unlink()
    assert [episode.id.bytes for episode in dataset.refresh().episodes] == [*keys[:2], *keys[3:]]
    assert [episode.id.bytes for episode in view.refresh().episodes] == keys[:1]
