"""Content digests: equal for equal content however it is stored, different for any difference."""

import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final
from unittest import mock

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import EpisodeEnd
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.storage import digest, filters
from rlds_kit.storage.column import Column
from rlds_kit.storage.digest import EpisodeDigest
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.leaf import ColumnKey
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.repetitions import repetitions
from tests.storage import strategies

Given = Sequence[tuple[dict[str, Any], dict[str, Any] | None]]


@pytest.fixture(scope="module", autouse=True)
def _no_fsync() -> Iterator[None]:
    """Hundreds of tiny datasets need not survive a power cut."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda _: None)
        yield


def _digest(rows: Given, block_rows: int = 64, *, flush_each: int = 0, ending: Any = None, **start: Any) -> bytes:
    """The digest that a reader finds for an episode of these rows."""
    with tempfile.TemporaryDirectory() as directory:
        with Recorder(directory, policy=FlushPolicy(block_rows=block_rows, interval=None)) as recorder:
            episode = recorder.start_episode(**start)
            for number, (observed, acted) in enumerate(rows, 1):
                episode.append(observed, acted)
                if flush_each and number % flush_each == 0:
                    recorder.flush()
            episode.end(**(ending or {"ending": EpisodeEnd.TERMINATED}))
        (read,) = rlds_kit.open(directory).episodes
        assert len(read.content_digest) == 16
        return read.content_digest


@pytest.mark.sweep
@given(strategies.rows(), st.sampled_from([1, 2, 64]), st.integers(0, 3))
@settings(max_examples=repetitions(100, least=40))
def test_block_layout_plays_no_part(rows: Given, block_rows: int, flush_each: int) -> None:
    """However rows are cut into blocks, the digest is the same."""
    assert _digest(rows, block_rows, flush_each=flush_each) == _digest(rows)


@st.composite
def _blocks(draw: st.DrawFn) -> list[Column]:
    """The columns of a block of an episode."""
    found = []
    for number, dtype in enumerate(draw(st.lists(st.sampled_from(["f4", "i8", "?", ">i2", "u1"]), max_size=4))):
        rows = np.arange(draw(st.integers(0, 2)), draw(st.integers(3, 9)))
        if len(rows) > 2 and draw(st.booleans()):
            rows = np.delete(rows, 1)
        values = np.arange(len(rows) * 6).reshape(-1, 2, 3).astype(dtype)
        path = draw(st.sampled_from(["observation", "time_ns"])) + f"/{number}" * draw(st.integers(0, 1))
        values = draw(st.sampled_from([values, values[:, :0], values.swapaxes(1, 2), values[:, 0]]))
        found.append(Column(ColumnKey(path, pb.ARRAY, values.dtype, values.ndim - 1), rows, values))
        if draw(st.booleans()):
            shapes = np.arange(len(rows)).reshape(-1, 1)
            found.append(
                Column(ColumnKey(f"ragged{number}", pb.TEXT, None, 1), rows, np.zeros(shapes.sum(), "u1"), shapes)
            )
    return list({each.key: each for each in found}.values())


@given(_blocks())
def test_a_single_block_has_the_same_digest(columns: list[Column]) -> None:
    """`update_once` is a faster equivalent, for columns of any form."""
    start, end = pb.EpisodeStart(episode_id=b"x" * 16), pb.EpisodeEnd(rows=9, ending=pb.TERMINATED)
    one, other = EpisodeDigest(), EpisodeDigest()
    one.update(columns)
    other.update_once(columns)
    assert one.digest(start, end) == other.digest(start, end)


FILTERS: Final = (pb.IDENTITY, pb.XOR, pb.SHUFFLE, pb.XOR_SHUFFLE, pb.SPARSE_XOR)


@pytest.mark.parametrize("number", FILTERS)
def test_filters_play_no_part(number: int) -> None:
    """Whatever filter and level were chosen, the digest is the same, and so are the values."""
    noise = np.random.default_rng(1)
    rows: Given = [
        ({"x": noise.integers(0, 5, (3, 4), np.int32), "f": noise.normal(size=2), "t": "é"}, None) for _ in range(20)
    ]

    def choose(*_: object) -> Choice:
        return Choice(number, 1)

    with mock.patch.object(FilterChoice, "__call__", choose):
        assert number in filters.APPLY
        assert _digest(rows) == _digest(rows, 7)
        filtered = _digest(rows)
    assert filtered == _digest(rows)


def _frames(kind: str) -> list[np.ndarray]:
    """Twelve values of 4,096 bytes and more: what `kind` says about them decides how they are encoded and hashed."""
    noise = np.random.default_rng(3)
    frames = [np.full((64, 64), 7, np.uint8) for _ in range(12)]
    for number, frame in enumerate(frames if kind != "equal" else ()):
        frame[number] = number
    match kind:
        case "noise":  # so large when compressed that blocks are cut
            return [noise.integers(0, 256, (64, 64, 32), np.uint8) for _ in frames]
        case "bool":
            return [frame > 7 for frame in frames]
        case "other shapes":
            return [frame if number % 5 else frame[:-1] for number, frame in enumerate(frames)]
        case "smaller first":
            return [frame[:60] if number < 3 else frame for number, frame in enumerate(frames)]
        case "sideways":
            return [np.asfortranarray(frame) for frame in frames]
    return frames


@pytest.mark.parametrize("block_rows", [1, 3, 64])
@pytest.mark.parametrize("kind", ["changes", "equal", "noise", "bool", "other shapes", "smaller first", "sideways"])
def test_large_values_are_hashed_once(kind: str, block_rows: int) -> None:
    """While they are encoded, or else apart: the digest is the one that the package xxhash finds."""
    rows: Given = [({"observation": each, "n": number}, None) for number, each in enumerate(_frames(kind))]
    with mock.patch.object(digest, "is_hashed_while_encoded", return_value=False):
        expected = _digest(rows)
    assert expected == _digest(rows, block_rows) == _digest(rows, block_rows, flush_each=5)


def test_identity_and_clocks_play_no_part(tmp_path: Path) -> None:
    """UUID, times of start, steps and actors, and provenance do not count; the same content twice has one digest."""
    for turn in range(2):
        with Recorder(tmp_path, environment={"turn": turn}) as recorder:
            episode = recorder.start_episode(provenance={"turn": turn})
            episode.append({"x": 1, "time_ns": turn, "trial_clock": {"player": {"requested_ns": turn}}})
            episode.end(EpisodeEnd.TERMINATED)
    first, second = rlds_kit.open(tmp_path).episodes
    assert first.content_digest == second.content_digest
    assert first.id != second.id


BASE: Final[Given] = [
    (
        {"x": np.arange(4, dtype=np.int16) + row, "n": {"a": 1.0, "s": "text"}, "l": [1, 2]},
        {"reward": 0.0} if row else None,
    )
    for row in range(4)
]


def _changed(row: int, **fields: Any) -> Given:
    rows = [(dict(observed), acted) for observed, acted in BASE]
    rows[row][0].update(fields)
    return rows


X: Final[np.ndarray] = BASE[2][0]["x"]
CHANGES: Final[dict[str, Given]] = {
    "a bit": _changed(2, x=X ^ np.array([0, 0, 1, 0], np.int16)),
    "dtype": _changed(2, x=X.astype(np.int32)),
    "byte order": _changed(2, x=X.astype(">i2")),
    "unsigned": _changed(2, x=X.view(np.uint16)),
    "shape": _changed(2, x=X.reshape(2, 2)),
    "rank": _changed(2, x=X.reshape(4, 1)),
    "absent": [
        (observed if row != 2 else {"n": observed["n"], "l": [1, 2]}, acted)
        for row, (observed, acted) in enumerate(BASE)
    ],
    "none": _changed(2, x=None),
    "scalar type": _changed(2, n={"a": np.float64(1.0), "s": "text"}),
    "0-d array": _changed(2, n={"a": np.array(1.0), "s": "text"}),
    "int": _changed(2, n={"a": 1, "s": "text"}),
    "bool": _changed(2, n={"a": True, "s": "text"}),
    "bytes": _changed(2, n={"a": 1.0, "s": b"text"}),
    "text": _changed(2, n={"a": 1.0, "s": "texT"}),
    "key": _changed(2, n={"b": 1.0, "s": "text"}),
    "tuple": _changed(2, l=(1, 2)),
    "list order": _changed(2, l=[2, 1]),
    "new field": _changed(2, y=None),
    "row order": [*BASE[:2], BASE[3], BASE[2]],
    "one row less": BASE[:-1],
    "one row more": [*BASE, ({}, None)],
    "negative zero": [
        (observed, {"reward": -0.0} if row == 2 else acted) for row, (observed, acted) in enumerate(BASE)
    ],
    "gap": [(observed, None if row == 2 else acted) for row, (observed, acted) in enumerate(BASE)],
    "action side": [({**observed, **(acted or {})}, None) for observed, acted in BASE],
}


@pytest.mark.parametrize("change", list(CHANGES))
def test_any_change_of_a_step_changes_the_digest(change: str) -> None:
    """A bit, a type, a shape, a presence, an order: each of them counts."""
    assert _digest(CHANGES[change]) != _digest(BASE)


def test_all_changes_have_different_digests() -> None:
    """No two changes look alike."""
    digests = {_digest(rows) for rows in CHANGES.values()}
    assert len(digests) == len(CHANGES)


@pytest.mark.parametrize(
    "change",
    [
        {"metadata": {"a": 1}},
        {"metadata": {"a": 1.0}},
        {"metadata": {"b": 1}},
        {"seed": 1},
        {"options": {"a": 1}},
        {"ending": {"ending": EpisodeEnd.TRUNCATED}},
        {"ending": {"ending": EpisodeEnd.INTERRUPTED}},
        {"ending": {"ending": EpisodeEnd.TERMINATED, "truncated": True}},
        {"ending": {"ending": EpisodeEnd.TERMINATED, "metadata": {"a": 1}}},
    ],
)
def test_metadata_and_end_change_the_digest(change: dict[str, Any]) -> None:
    """Metadata of the start and of the end, seed, options, ending and both flags count."""
    assert _digest(BASE, **change) != _digest(BASE)
    assert _digest(BASE, **change) == _digest(BASE, 1, **change)


@given(st.data(), strategies.any_dtypes, strategies.shapes.filter(lambda shape: 0 not in shape))
def test_any_flipped_bit_changes_the_digest(data: st.DataObject, dtype: np.dtype[Any], shape: tuple[int, ...]) -> None:
    """One bit of one array, wherever it is."""
    array = data.draw(strategies.array_like(dtype, shape))
    flipped = np.ascontiguousarray(array).reshape(-1).view(np.uint8).copy()
    flipped[data.draw(st.integers(0, len(flipped) - 1))] ^= (
        1 if dtype == np.bool_ else 1 << data.draw(st.integers(0, 7))
    )
    other = flipped.view(dtype).reshape(array.shape)
    assert _digest([({"x": array}, None)]) != _digest([({"x": other}, None)])
