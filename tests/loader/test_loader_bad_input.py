"""Invalid arguments: an error states what was expected, what was received, and how to fix it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import Dataset
from rlds_kit import spec as specs
from rlds_kit.riegeli import blocks
from rlds_kit.storage.recorder import Recorder
from tests.loader.recording import NUMBERED, numbered, plain, recorded


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """Two episodes."""
    return numbered(tmp_path_factory.mktemp("dataset"), (9, 4))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "expected length of at least 1, got 0"),
        ((-2,), "expected length of at least 1, got -2"),
        ((2, 0), "expected stride of at least 1, got 0"),
        ((2, 1, "wrap"), """expected pad to be "none", "zero" or "repeat", got 'wrap'"""),
        ((2, 1, None), "expected pad to be .* got None"),
    ],
)
def test_windows_that_cannot_be(dataset: Dataset, arguments: tuple[Any, ...], message: str) -> None:
    """At once, not in the first loop."""
    with pytest.raises(ValueError, match=message):
        dataset.windows(*arguments)


@pytest.mark.parametrize("arguments", [(2.5,), ("2",), (2, 1.0), (None,)])
def test_lengths_are_integers(dataset: Dataset, arguments: tuple[Any, ...]) -> None:
    with pytest.raises(TypeError, match="to be an integer"):
        dataset.windows(*arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0,), "expected n of at least 1, got 0"),
        ((1, 1.5), "expected gamma between 0 and 1, got 1.5"),
        ((1, -0.1), "expected gamma between 0 and 1, got -0.1"),
        ((1, float("nan")), "expected gamma between 0 and 1, got nan"),
    ],
)
def test_transitions_that_cannot_be(dataset: Dataset, arguments: tuple[Any, ...], message: str) -> None:
    """At once, not in the first loop."""
    with pytest.raises(ValueError, match=message):
        dataset.transitions(*arguments)


@pytest.mark.parametrize(
    ("offsets", "error", "message"),
    [
        ({}, ValueError, "expected offsets of at least one field, got none"),
        ({"observation": []}, ValueError, "expected offsets of the field 'observation', got none"),
        ({"observation": [0.5]}, TypeError, "expected observation to be an integer, got 0.5"),
        ({"obs": [0]}, KeyError, "there is no field 'obs'; there are .*observation"),
        ({"observation/x": [0]}, KeyError, "there is no field 'observation/x'"),
    ],
)
def test_chunks_that_cannot_be(dataset: Dataset, offsets: Any, error: type[Exception], message: str) -> None:
    """At once, not in the first loop."""
    with pytest.raises(error, match=message):
        dataset.chunks(offsets)


def test_a_field_and_a_part_of_it_cannot_both_have_offsets() -> None:
    """In a batch both would stand in the same place."""
    with (
        recorded(plain(5, observation="dict")) as dataset,
        pytest.raises(ValueError, match="got some of 'observation' and 'observation/t'"),
    ):
        dataset.chunks({"observation": [0], "observation/t": [0, 1]})


@pytest.mark.parametrize("name", ["obs", "observation/x", "Observation", "", "info"])
def test_fields_that_are_not_there(dataset: Dataset, name: str) -> None:
    """`select` and `dtypes` name those that are."""
    with pytest.raises(KeyError, match=f"there is no field '{name}'; there are"):
        dataset.select(name)
    with pytest.raises(KeyError, match=f"there is no array '{name}' to convert; there are action, image"):
        dataset.windows(1, dtypes={name: "float32"})


def test_a_field_that_is_no_array_cannot_be_converted() -> None:
    """Values of type `Any` are returned as recorded; a dtype for them would be ignored."""
    with recorded(plain(5, observation="text")) as dataset:
        with pytest.raises(KeyError, match="there is no array 'observation' to convert"):
            dataset.windows(1, dtypes={"observation": "float32"})
        with pytest.raises(KeyError, match="there is no array 'action' to convert; there are reward"):
            dataset.select("reward").windows(1, dtypes={"action": "float32"})


def test_a_dtype_that_is_none(dataset: Dataset) -> None:
    """It must be one that can be recorded."""
    with pytest.raises(TypeError):
        dataset.windows(1, dtypes={"reward": "float33"})
    with pytest.raises(rlds_kit.UnsupportedTypeError):
        dataset.windows(1, dtypes={"reward": object})


def test_nothing_selected_is_nothing(dataset: Dataset) -> None:
    """A view of no fields has flags, which are never stored, and no others."""
    batch = dataset.select().windows(2).gather([0])
    assert batch.keys() == {"is_first", "is_last", "is_terminal", "mask", "valid", "episode", "step"}
    assert batch["valid"] == {}
    assert dataset.select().transitions().gather([0])["discount"].tolist() == [1]


@pytest.mark.parametrize(
    ("name", "method"),
    [
        ("mask", "windows"),
        ("valid", "windows"),
        ("n_steps", "transitions"),
        ("valid", "chunks"),
        ("step", "windows"),
        ("episode", "chunks"),
    ],
)
def test_a_field_with_a_name_of_the_batch(tmp_path: Path, name: str, method: str) -> None:
    """It would be overwritten, or overwrite: the error says how to leave it out."""
    with Recorder(tmp_path, specs.Dict({**NUMBERED.fields, name: specs.Array((), np.int64)})) as recorder:
        episode = recorder.start_episode()
        for number in range(3):
            row = {"observation": number, "image": np.zeros((16, 16), np.uint8), name: 1}
            episode.append(row, {"action": 0, "reward": 0.0} if number else None)
        episode.end(rlds_kit.EpisodeEnd.TRUNCATED)
    dataset = rlds_kit.open(tmp_path)
    arguments: dict[str, Any] = {"windows": (2,), "transitions": (), "chunks": ({name: [0], "observation": [0]},)}
    with pytest.raises(ValueError, match=rf"has a field '{name}'.* leave the field out with `select`"):
        getattr(dataset, method)(*arguments[method])
    assert len(dataset.select("observation", "action").transitions()) == 2


def test_windows_longer_than_every_episode(dataset: Dataset) -> None:
    """There are none, which is no error: `pad` would make some."""
    samples = dataset.windows(10)
    assert len(samples) == len(samples.batches(4, shuffle="global")) == 0
    assert list(samples) == list(samples.batches(4, shuffle="blocks")) == samples[:5] == []
    with pytest.raises(IndexError, match="there are 0 samples, there is no sample 0"):
        samples[0]
    assert samples.gather([])["observation"].shape == (0, 10)


def test_a_dataset_without_episodes(tmp_path: Path) -> None:
    """It knows its fields, and has no samples."""
    Recorder(tmp_path, NUMBERED).close()
    dataset = rlds_kit.open(tmp_path)
    for samples in (dataset.windows(2), dataset.transitions(), dataset.chunks({"observation": [0]})):
        assert len(samples) == 0
        assert list(samples.batches(2, shuffle="global")) == []
        assert samples.gather([])["observation"].dtype == np.int64


def test_an_end_that_may_be_damaged_is_not_guessed(tmp_path: Path) -> None:
    """Flags of a step that may be the last or not are an error; everything else of the episode can be read."""
    dataset = numbered(tmp_path, [12], shard=1)
    path = next(tmp_path.glob("*.riegeli"))
    name, entry = dataset._all[0]
    assert name == path.name
    data = bytearray(path.read_bytes())
    data[entry.end + 45] ^= 1  # in the record of the episode's end
    del data[entry.end + blocks.BLOCK_SIZE :]  # and its index is lost
    path.write_bytes(data)
    with pytest.warns(rlds_kit.DamageWarning):
        damaged = rlds_kit.open(tmp_path)
    with pytest.raises(rlds_kit.DamagedError):
        _ = damaged.episodes[0]["is_last"]
    samples = damaged.transitions()
    assert samples.gather(range(10))["next_observation"].tolist() == list(range(1, 11))
    with pytest.raises(rlds_kit.DamagedError, match=r"it is unknown whether step 11 is its last.*rlds-kit repair"):
        samples.gather([10])
    history = damaged.chunks({"observation": [-1, 0]})
    assert len(history) == 11
    assert history.gather([10])["observation"].tolist() == [[10, 11]]
    windows = damaged.select("observation").windows(3)
    assert not windows.gather(range(9))["is_last"].any()
    with pytest.raises(rlds_kit.DamagedError, match="it is unknown whether step 11 is its last"):
        windows.gather([9])


@pytest.mark.parametrize("offsets", [{"action": 3}, ["action"], None])
def test_offsets_are_a_mapping_to_several(dataset: Dataset, offsets: Any) -> None:
    """The error shows what was expected, of a dataset and of a mixture."""
    for maker in (dataset, rlds_kit.mix({dataset: 1})):
        with pytest.raises(TypeError, match=r'expected offsets for each field, such as \{"action": range\(8\)\}, got'):
            maker.chunks(offsets)
