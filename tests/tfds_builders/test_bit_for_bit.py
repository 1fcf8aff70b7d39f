"""What was recorded comes out of every reader bit for bit, over all dtypes that TensorFlow Datasets has."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import Dataset
from rlds_kit.tfds_builders.directory import builder_from_directory
from rlds_kit.tfds_builders.example import example
from rlds_kit.tfds_builders.features import episode_features
from tests.tfds_builders.every_dtype import DTYPES, IMAGES, LENGTHS, METADATA, REFUSED, SHAPES, bits, expected, record

SKIP = {"steps": tfds.decode.SkipDecoding()}


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    """The recorded episodes."""
    directory = tmp_path_factory.mktemp("every_dtype")
    record(directory)
    return rlds_kit.open(directory)


@pytest.fixture(scope="module")
def dense(dataset: Dataset) -> Dataset:
    """Without what changes its shape from step to step."""
    whole = [f"observation/{name}" for name in (*IMAGES, "pair", "text", "raw")]
    parts = [f"observation/{name}/{kind}" for name in DTYPES for kind in SHAPES if kind != "ragged"]
    kept = [path for path in parts if tuple(path.split("/")[1:]) not in REFUSED]
    return dataset.select("action", "reward", "discount", *whole, *kept)


def written(dataset: Dataset, directory: Path, file_format: str) -> Any:
    """The episodes in files of TFDS, opened by TFDS alone."""
    features = episode_features(dataset)
    identity = tfds.core.DatasetIdentity("recorded", tfds.core.Version("1.0.0"), str(directory), module_name="")
    info = tfds.core.DatasetInfo(builder=identity, features=features)
    writer = tfds.core.SequentialWriter(info, max_examples_per_shard=2, file_format=file_format)
    writer.initialize_splits(["train"])
    writer.add_examples({"train": [example(episode, features) for episode in dataset.episodes]})
    writer.close_all()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "label.. is deprecated", DeprecationWarning)  # TFDS calls protobuf
        return tfds.builder_from_directory(directory)


def assert_same(episodes: Iterator[dict[str, Any]], keep: Callable[[Any], Any] = bits) -> None:
    """Every value of every step, and the metadata of each episode."""
    found = list(episodes)
    assert len(found) == len(LENGTHS)
    by_length = sorted(found, key=lambda episode: len(episode["steps"]))
    for number, episode in zip(np.argsort(LENGTHS).tolist(), by_length, strict=True):
        assert [bits(step) for step in episode["steps"]] == [keep(step) for step in expected(number)]
        told = {name: bits(value) for name, value in episode.items() if name not in {"steps", "episode_id"}}
        weights = np.array(METADATA[number]["weights"])
        assert told == {
            **{key: bits(item) for key, item in METADATA[number].items()},
            "weights": bits(weights),
            "end": b"terminated",
        }


def without_ragged(step: dict[str, Any]) -> Any:
    """A step as the dense ones are."""
    observation = {
        name: {kind: item for kind, item in held.items() if kind != "ragged"} if isinstance(held, dict) else held
        for name, held in step["observation"].items()
    }
    return bits({**step, "observation": observation})


def unstacked(episodes: Any) -> Iterator[dict[str, Any]]:
    """Episodes whose steps are dicts of arrays, as those with lists of steps."""
    for episode in episodes:
        count = len(episode["steps"]["is_first"])
        yield {**episode, "steps": [_row(episode["steps"], row) for row in range(count)]}


def _row(nest: Any, row: int) -> Any:
    return {key: _row(item, row) for key, item in nest.items()} if isinstance(nest, dict) else nest[row]


def listed(episodes: Any) -> Iterator[dict[str, Any]]:
    """Episodes with their steps in lists."""
    for episode in tfds.as_numpy(episodes):
        yield {**episode, "steps": list(episode["steps"])}


def test_zero_conversion_as_dataset(dataset: Dataset) -> None:
    """Of a step at a time."""
    assert_same(listed(builder_from_directory(dataset).as_dataset(split="train")))


def test_zero_conversion_dense(dense: Dataset) -> None:
    """Of an episode at a time."""
    episodes = builder_from_directory(dense).as_dataset(split="train", decoders=SKIP)
    assert_same(unstacked(tfds.as_numpy(episodes)), without_ragged)


def test_zero_conversion_as_data_source(dataset: Dataset) -> None:
    assert_same(iter(builder_from_directory(dataset).as_data_source(split="train")))


def test_zero_conversion_dense_data_source(dataset: Dataset) -> None:
    """By number, an episode at a time."""
    assert_same(unstacked(builder_from_directory(dataset).as_data_source(split="train", decoders=SKIP)))


def test_tfrecord(dataset: Dataset, tmp_path: Path) -> None:
    """Through files that TFDS wrote and reads itself."""
    assert_same(listed(written(dataset, tmp_path, "tfrecord").as_dataset(split="train")))


def test_array_record(dataset: Dataset, tmp_path: Path) -> None:
    """Through files that TFDS wrote and reads itself, without TensorFlow."""
    assert_same(iter(written(dataset, tmp_path, "array_record").as_data_source(split="train")))


def test_as_tf_dataset_agrees(dataset: Dataset) -> None:
    """Names, dtypes, shapes and values are those of the dataset's own feed; tuples are dicts."""
    episodes = dataset.as_tf_dataset(metadata=sorted(METADATA[0]))
    assert_same(listed(episodes))
    spec = builder_from_directory(dataset).as_dataset(split="train").element_spec
    assert spec.keys() == episodes.element_spec.keys()
    assert spec["steps"].element_spec.keys() == episodes.element_spec["steps"].element_spec.keys()
