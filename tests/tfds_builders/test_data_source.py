"""Episodes and steps by number, in the loaders that want that."""

import os
import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import grain
import numpy as np
import pytest
import tensorflow_datasets as tfds
import torch

import rlds_kit
from rlds_kit.tfds_builders import builder_from_directory
from rlds_kit.tfds_builders.data_source import EpisodeDataSource
from tests.tfds_builders.recordings import record

COUNT = 5
DENSE = {"steps": tfds.decode.SkipDecoding()}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Five episodes, the longest of several blocks."""
    return record(tmp_path_factory.mktemp("recorded"), COUNT, steps=150)


@pytest.fixture
def source(directory: Path) -> EpisodeDataSource:
    """Of the five episodes."""
    found = builder_from_directory(directory).as_data_source(split="train")
    assert isinstance(found, EpisodeDataSource)
    return found


def test_episodes_by_number(source: EpisodeDataSource) -> None:
    """From either end, several at once, and in slices, which are sources themselves."""
    assert len(source) == COUNT
    assert (source[0]["player"], source[-1]["player"], source[2]["player"]) == (b"p0", b"p4", b"p2")
    assert [episode["player"] for episode in source.__getitems__([3, 1])] == [b"p3", b"p1"]
    assert [episode["player"] for episode in source[1:4][::2]] == [b"p1", b"p3"]
    assert len(list(source)) == COUNT
    with pytest.raises(IndexError):
        source[COUNT]


def test_steps_by_number(directory: Path, source: EpisodeDataSource) -> None:
    """In any order of access."""
    episode = rlds_kit.open(directory).episodes[1]
    steps = source[1]["steps"]
    assert len(steps) == episode.length
    for number in (150, 3, 70, -1, 0, 64, 63):
        np.testing.assert_array_equal(
            steps[number]["observation"]["camera"], episode.steps[number]["observation"]["camera"]
        )
        assert steps[number]["action"] == episode["action"][number]
    assert [step["action"] for step in steps[10:14]] == [10, 11, 12, 13]
    assert [step["action"] for step in steps[100:].__getitems__([1, 0])] == [101, 100]
    with pytest.raises(IndexError):
        steps[episode.length]


def test_iterators_are_independent(source: EpisodeDataSource) -> None:
    steps = source[0]["steps"]
    assert [(int(one["action"]), int(other["action"])) for one, other in zip(steps, steps, strict=True)][:2] == [
        (0, 0),
        (1, 1),
    ]


def test_sources_can_be_pickled(source: EpisodeDataSource) -> None:
    """Of episodes, and of steps that were read already."""
    other = pickle.loads(pickle.dumps(source))  # noqa: S301
    assert other[4]["player"] == b"p4"
    steps = source[2]["steps"]
    assert steps[3]["action"] == pickle.loads(pickle.dumps(steps))[3]["action"]  # noqa: S301


@pytest.mark.thorough
@pytest.mark.parametrize("workers", [0, 2])
def test_in_a_torch_data_loader(directory: Path, workers: int) -> None:
    dense = builder_from_directory(directory).as_data_source(split="train", decoders=DENSE)
    loader = torch.utils.data.DataLoader(
        dense, batch_size=None, num_workers=workers, multiprocessing_context="spawn" if workers else None
    )
    assert [len(episode["steps"]["reward"]) for episode in loader] == [151, 152, 153, 154, 155]


def test_in_a_grain_pipeline(source: EpisodeDataSource) -> None:
    """Shuffled, and mapped to what is wanted of each episode."""
    players = grain.MapDataset.source(source).shuffle(seed=1).map(lambda episode: episode["player"])
    assert sorted(players) == [b"p0", b"p1", b"p2", b"p3", b"p4"]
    iterator = iter(grain.MapDataset.source(source).to_iter_dataset().map(lambda episode: len(episode["steps"])))
    assert list(iterator) == [151, 152, 153, 154, 155]


def test_the_repr_says_what_the_data_are(source: EpisodeDataSource, directory: Path) -> None:
    """The same in every process: Grain compares it when it continues from a checkpoint."""
    again = builder_from_directory(directory).as_data_source(split="train")
    assert repr(again) == repr(source)
    assert repr(again[1:]) != repr(source)


def test_other_arguments_of_tfds_are_refused(directory: Path) -> None:
    """They are about files of its own."""
    with pytest.raises(ValueError, match="file_format"):
        builder_from_directory(directory).as_data_source(split="train", file_format="array_record")


def test_tensorflow_is_not_loaded(directory: Path) -> None:
    """Not to open a builder, to ask what there is, or to read."""
    code = f"""
import sys
from rlds_kit.tfds_builders import builder_from_directory
builder = builder_from_directory({str(directory)!r})
source = builder.as_data_source(split="train[1:]")
print(source[0]["steps"][3]["action"], builder.info.splits["train"].num_examples, "tensorflow" in sys.modules)
"""
    env: dict[str, Any] = {**os.environ, "PYTHONPATH": str(Path(rlds_kit.__file__).parent.parent)}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False)
    assert done.stdout.split() == ["3", str(COUNT), "False"], done.stderr
