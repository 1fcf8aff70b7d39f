"""The spec of the metadata of episodes in the index of a shard."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rlds_kit
from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import SpecError
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.loader.metadata import Metadata, described, metadata_columns, metadata_keys
from rlds_kit.spec import value
from rlds_kit.storage import metadata_spec
from rlds_kit.storage.metadata_spec import MetadataSpec, union_of_all
from rlds_kit.storage.recorder import Recorder
from tests.repetitions import repetitions

VALUES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(1 << 70), 1 << 70),
    st.floats(allow_nan=False),
    st.text(max_size=3),
    st.binary(max_size=3),
    st.sampled_from([np.float32(1), np.zeros(3, np.int8), np.zeros((2, 2)), np.zeros(2, ">i4"), [1, 2], {"a": 1}]),
)
METADATA = st.dictionaries(st.sampled_from(["a", "b", "c/d", ""]), VALUES)


def _record(directory: Path, episodes: list[tuple[dict[str, Any], dict[str, Any]]], **options: Any) -> rlds_kit.Dataset:
    with Recorder(directory, **options) as recorder:
        for start, end in episodes:
            episode = recorder.start_episode(metadata=start)
            episode.append({"observation": 1})
            episode.end(EpisodeEnd.TERMINATED, metadata=end)
    return rlds_kit.open(directory)


def _spec(*episodes: tuple[dict[Any, Any], dict[Any, Any]]) -> specs.Spec:
    found = MetadataSpec()
    for start, end in episodes:
        found.add(value.encode(start), value.encode(end))
    return found.to_spec()


@pytest.mark.sweep
@given(st.lists(st.tuples(METADATA, METADATA), min_size=1, max_size=4), st.integers(1, 2))
@settings(max_examples=repetitions(100, least=40))
def test_metadata_are_those_that_reading_every_episode_gives(
    tmp_path_factory: pytest.TempPathFactory, episodes: list[tuple[dict[str, Any], dict[str, Any]]], per_shard: int
) -> None:
    """The same keys, and for each key the same values, dtypes and shapes, or the same refusal."""
    dataset = _record(tmp_path_factory.mktemp("d"), episodes, max_shard_episodes=per_shard)
    known = dataset.source().metadata
    assert isinstance(known, specs.Dict)
    keys = metadata_keys(dataset.episodes, known)
    assert keys == metadata_keys(dataset.episodes, None)
    for name in keys:
        try:
            (column,) = metadata_columns(dataset.episodes, [name]).values()
        except SpecError:
            assert described(known, [name]) is None
            continue
        found = Metadata(dataset.episodes, [name], known)
        (example,) = found.examples.values()
        assert (example.dtype, example.shape[1:]) == (column.dtype, column.shape[1:])
        assert type(example[0]) is type(column[0])
        for number, row in enumerate(column):
            np.testing.assert_array_equal(found.of(number)[name], row, strict=not isinstance(row, str | bytes))


def test_one_kind_of_number_is_described_and_nothing_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    dataset = _record(tmp_path, [({"level": n, "player": "ada"}, {"score": n / 2}) for n in range(3)])
    monkeypatch.setattr(rlds_kit.Episode, "metadata", property(lambda _: pytest.fail("an episode was read")))
    known = dataset.source().metadata
    assert metadata_keys(dataset.episodes, known) == ("level", "player", "score")
    assert [each.dtype for each in Metadata(dataset.episodes, ["level", "score"], known).examples.values()] == [
        np.int64,
        np.float64,
    ]


def test_what_some_episodes_lack_is_optional() -> None:
    assert _spec(({"a": 1}, {}), ({}, {"a": 2, "b": "x"})) == specs.Dict(
        {"a": specs.Array((), "int64"), "b": specs.Optional(specs.Text())}
    )


def test_the_end_has_precedence() -> None:
    assert _spec(({"a": 1}, {"a": "x"})) == specs.Dict({"a": specs.Text()})


def test_different_kinds_have_no_spec() -> None:
    assert _spec(({"a": 1}, {}), ({"a": 1.5}, {})) == specs.Dict({"a": specs.Any()})
    assert _spec(({"a": np.zeros(2)}, {}), ({"a": np.zeros(3)}, {})) == specs.Dict({"a": specs.Array((None,), float)})


@pytest.mark.parametrize("metadata", [{1: "x"}, {"\ud800": 1}])
def test_keys_that_are_no_text_have_no_spec(metadata: dict[Any, Any]) -> None:
    assert _spec(({"a": 1}, {}), (metadata, {})) == specs.Any()


def test_an_array_with_other_bytes_than_its_shape_says_has_no_spec() -> None:
    found, array = MetadataSpec(), pb.Array(dtype="uint8", shape=[1 << 63], data=b"\0")
    found.add(pb.Value(dict=pb.Entries(key=[pb.Value(text=b"a")], value=[pb.Value(array=array)])), pb.Value())
    assert found.to_spec() == specs.Dict({"a": specs.Any()})


def test_keys_that_differ_in_every_episode_take_no_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(metadata_spec, "MOST_KEYS", 10)
    found = MetadataSpec()
    for number in range(100):
        found.add(value.encode({str(number): 1}), value.encode({}))
    assert found.to_spec() == specs.Any()
    assert len(found._fields) <= 12


def test_the_union_is_not_known_where_a_part_is_not() -> None:
    one, other = specs.Dict({"a": specs.Text()}), specs.Dict({"a": specs.Text(), "b": specs.Text()})
    assert union_of_all([one, other]) == specs.Dict({"a": specs.Text(), "b": specs.Optional(specs.Text())})
    assert union_of_all([one, None, other]) is None


def test_discarded_episodes_and_those_that_never_ended_are_described_right(tmp_path: Path) -> None:
    with Recorder(tmp_path) as recorder:
        for name, rows in (("kept", 1), ("discarded", 1), ("open", 1)):
            episode = recorder.start_episode(metadata={name: 1})
            for number in range(rows):
                episode.append({"observation": number})
            recorder.flush()
            if name == "kept":
                episode.end(EpisodeEnd.TERMINATED)
            if name == "discarded":
                episode.discard()
    known = rlds_kit.open(tmp_path).source().metadata
    assert known == specs.Dict({name: specs.Optional(specs.Array((), "int64")) for name in ("kept", "open")})
