"""Several fields of an episode that are read together."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import rlds_kit
from rlds_kit.base.errors import DamagedError
from rlds_kit.base.step import FLAGS
from rlds_kit.episode.episode import Episode
from rlds_kit.logger import EpisodeWriter
from rlds_kit.storage.episode_reader import fields
from tests.loader.recording import plans, recorded

_PARTS = ("observation/pixels", "observation/inner/x", "observation/inner", "action/arm", "info/lives")


def _one_by_one(episode: Episode, names: tuple[str, ...]) -> tuple[dict[str, Any], list[Any]]:
    """The fields that exist, each read by itself; and the errors of those that do not, or have no array."""
    found, errors = dict[str, Any](), []
    for name in names or episode.fields:
        try:
            found[name] = episode[name]
        except (KeyError, rlds_kit.SpecError) as error:
            if names or not isinstance(error, KeyError):
                errors.append((type(error), error.args))
    return found, errors


def _together(episode: Episode, names: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
    try:
        return episode.arrays(*names), None
    except (KeyError, rlds_kit.SpecError) as error:
        return {}, (type(error), error.args)


def _flat(value: Any) -> Any:
    """Nests with what distinguishes two arrays: dtype, shape and values."""
    if isinstance(value, dict):
        return {name: _flat(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(map(_flat, value))
    if isinstance(value, np.ndarray) and value.dtype != object:
        return str(value.dtype), value.shape, value.tobytes()
    return str(value.dtype) + repr(value.tolist()) if isinstance(value, np.ndarray) else value


def _selected(dataset: rlds_kit.Dataset, names: list[str]) -> rlds_kit.Dataset:
    """A view with these fields and parts, as far as they exist."""
    known = [name for name in dict.fromkeys(names) if name.partition("/")[0] in (*dataset.spec.fields, *FLAGS)]
    try:
        return dataset.select(*known) if known else dataset
    except KeyError:
        return dataset


@given(plans(max_episodes=2), st.data())
def test_fields_are_those_that_are_read_one_by_one(plan: Any, data: st.DataObject) -> None:
    """For any fields and steps: the same names in the same order, values, dtypes, and one of the errors."""
    with recorded(plan) as dataset:
        for number, episode in enumerate(dataset.episodes):
            begin = data.draw(st.integers(0, len(episode)))
            part = episode[begin : data.draw(st.integers(begin, len(episode)))]
            every = (*plan.kinds, *FLAGS, *_PARTS)
            names = tuple(data.draw(st.lists(st.sampled_from(every), max_size=6)))
            if selected := data.draw(st.lists(st.sampled_from(every), max_size=4)):
                part = _selected(dataset, selected).episodes[number][part.rows.start : part.rows.stop]
            found, error = _together(part, names)
            expected, errors = _one_by_one(part, names)
            if errors:
                assert error in errors
            else:
                assert error is None
                assert [*_flat(found).items()] == [*_flat(expected).items()]


@pytest.fixture
def robot(tmp_path: Path) -> rlds_kit.Dataset:
    """Observations of two parts, and a field that only the last step has."""
    with EpisodeWriter(tmp_path / "data", record_time=False) as writer, writer.episode() as episode:
        episode.start({"state": np.zeros(3, np.float32), "image": np.zeros((4, 4), np.uint8)})
        for row in range(1, 6):
            observation = {"state": np.full(3, row, np.float32), "image": np.full((4, 4), row, np.uint8)}
            late: dict[str, Any] = {"late": row} if row == 5 else {}
            episode.step(action=row, reward=1.0, observation=observation, terminated=row == 5, **late)
    return rlds_kit.open(tmp_path / "data")


def test_a_field_and_a_part_of_it_share_no_memory(robot: rlds_kit.Dataset) -> None:
    """What is done to one array does not change the other."""
    found = robot.episodes[0].arrays("observation", "observation/state")
    found["observation"]["state"][:] = 9
    assert found["observation/state"][:, 0].tolist() == [0, 1, 2, 3, 4, 5]


def test_names_that_begin_alike(tmp_path: Path) -> None:
    """A field is no part of another one whose name its own begins with."""
    with EpisodeWriter(tmp_path / "data", record_time=False) as writer, writer.episode() as episode:
        episode.start(0, image=0, image_valid=True)
        episode.step(action=1, reward=1.0, observation=1, image=1, image_valid=False, terminated=True)
    found = rlds_kit.open(tmp_path / "data").episodes[0].arrays("image", "image_valid")
    assert {name: each.tolist() for name, each in found.items()} == {"image": [0, 1], "image_valid": [True, False]}
    assert [each.dtype for each in found.values()] == [np.int64, np.bool_]  # of a mixture they would be objects


def test_fields_without_a_value_in_these_steps(robot: rlds_kit.Dataset) -> None:
    """Are left out if all were wanted, and an error if they were named."""
    part = robot.episodes[0][:3]
    assert "late" not in part.arrays()
    assert robot.episodes[0].arrays("late")["late"].tolist()[-1] == 5
    with pytest.raises(KeyError, match="none of these steps has the field 'late'"):
        part.arrays("action", "late")


def test_selected_parts_without_a_value_in_these_steps(tmp_path: Path) -> None:
    """Are left out like fields, whether the field was selected, too, or not."""
    with EpisodeWriter(tmp_path / "data", record_time=False) as writer, writer.episode() as episode:
        episode.start(0)
        for row in range(1, 6):
            late: dict[str, Any] = {"late": {"v": row}} if row == 5 else {}
            episode.step(action=row, reward=1.0, observation=row, terminated=row == 5, **late)
    dataset = rlds_kit.open(tmp_path / "data")
    for names in (("action", "late", "late/v"), ("action", "late/v"), ("action", "late")):
        assert [*dataset.select(*names).episodes[0][:3].arrays()] == ["action"]
        assert [*dataset.select(*names).episodes[0].arrays()] == [*names]


def test_flags_are_known_without_reading(robot: rlds_kit.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Damage of a block does not matter for them."""
    episode = robot.episodes[0]
    monkeypatch.setattr(type(robot.source().reader(0)), "_layout", None)
    assert episode.arrays("is_last", "is_first")["is_last"].tolist() == [False] * 5 + [True]


def test_only_selected_fields(robot: rlds_kit.Dataset) -> None:
    """As everywhere."""
    episode = robot.select("action", "observation/state").episodes[0]
    assert [*episode.arrays()] == ["action", "observation/state"]
    assert episode.arrays("observation")["observation"].keys() == {"state"}
    with pytest.raises(KeyError, match="'reward' was not selected"):
        episode.arrays("action", "reward")


def test_each_block_is_read_once(robot: rlds_kit.Dataset, monkeypatch: pytest.MonkeyPatch) -> None:
    """Else it would be no faster than field by field."""
    calls = list[object]()
    reader = type(robot.source().reader(0))
    stacks = reader.stacks

    def counted(*args: Any, **options: Any) -> Any:
        calls.append(args)
        return stacks(*args, **options)

    monkeypatch.setattr(reader, "stacks", counted)
    assert len(robot.episodes[0].arrays()) == 7
    assert len(calls) == 1


def test_damage_is_an_error(robot: rlds_kit.Dataset) -> None:
    """Of a field that was wanted."""
    reader = robot.source().reader(0)
    block = reader._layout(0)
    (column,) = block.columns(fields(["observation/image"]))
    (shard,) = Path(robot.path).glob("*.riegeli")
    data = bytearray(shard.read_bytes())
    data[int(reader._entry.blocks[0]) + block.payload_base + column.offset] ^= 1
    shard.write_bytes(data)
    episode = rlds_kit.open(robot.path).episodes[0]
    assert episode.arrays("action", "reward")["action"].tolist()[:5] == [1, 2, 3, 4, 5]
    with pytest.raises(DamagedError):
        episode.arrays()
