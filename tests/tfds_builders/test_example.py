"""Episodes as TFDS encodes them."""

from pathlib import Path

import numpy as np
import pytest
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit import SpecError
from rlds_kit import spec as specs
from rlds_kit.logger import EpisodeWriter
from rlds_kit.tfds_builders.example import example
from rlds_kit.tfds_builders.features import episode_features
from tests.tfds_builders.recordings import record

TEXT = tfds.features.Text()


def test_steps_are_dense_arrays(tmp_path: Path) -> None:
    """One for each field, and zeros stand for what is undefined."""
    dataset = rlds_kit.open(record(tmp_path))
    features = episode_features(dataset)
    episode = dataset.episodes[1]
    made = example(episode, features)
    assert made.keys() == features.keys()
    assert made["steps"]["observation"]["camera"].shape == (episode.length, 6, 8, 3)
    assert made["steps"]["action"].tolist() == [0, 1, 2, 3, 4, 0]
    assert made["steps"]["is_last"].tolist() == [False] * 5 + [True]
    assert (made["end"], made["player"], float(made["score"])) == (b"truncated", b"p1", 1 / 3)
    assert made["episode_id"] == str(episode.id).encode()


def test_only_what_the_features_name_is_read(tmp_path: Path) -> None:
    """Fields and metadata that were left out are left out."""
    dataset = rlds_kit.open(record(tmp_path)).select("reward")
    made = example(dataset.episodes[0], episode_features(dataset, metadata=[]))
    assert made.keys() == {"steps", "episode_id", "end"}
    assert made["steps"].keys() == {"reward", "is_first", "is_last", "is_terminal"}


def test_undeclared_fields_can_be_selected(tmp_path: Path) -> None:
    """Their specs are what turned up."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5, info={"pair": {"0": 1, "1": 2.5}})
        episode.step(action=1, reward=1.0, observation=1.5, info={"pair": {"0": 3, "1": 4.5}}, terminated=True)
    dataset = rlds_kit.open(tmp_path).select("info/pair")
    features = episode_features(dataset)
    pair = example(dataset.episodes[0], features)["steps"]["info"]["pair"]
    assert {key: (values.tolist(), values.dtype) for key, values in pair.items()} == {
        "0": ([1, 3], np.int64),
        "1": ([2.5, 4.5], np.float64),
    }


def test_a_discount_that_was_not_given_is_one(tmp_path: Path) -> None:
    """As in every reader; on the last step there was no action, and it is zero."""
    with EpisodeWriter(tmp_path, record_time=False) as writer:
        with writer.episode() as episode:
            episode.start(0.5)
            episode.step(action=1, reward=1.0, observation=1.5, truncated=True, discount=0.5)
        with writer.episode() as episode:
            episode.start(0.5)
            episode.step(action=1, reward=1.0, observation=1.5, truncated=True)
    dataset = rlds_kit.open(tmp_path)
    features = episode_features(dataset)
    made = [example(episode, features)["steps"]["discount"].tolist() for episode in dataset.episodes]
    fed = [list(episode["steps"]["discount"]) for episode in tfds.as_numpy(dataset.as_dense_tf_dataset())]
    assert made == fed


def test_a_missing_last_observation_must_be_requested(tmp_path: Path) -> None:
    """A missing observation is an error, not zeros."""
    with EpisodeWriter(tmp_path, record_time=False) as writer, writer.episode() as episode:
        episode.start(0.5)
        episode.step(action=1, reward=1.0, terminated=True)
    dataset = rlds_kit.open(tmp_path)
    with pytest.raises(SpecError, match="observation_valid"):
        example(dataset.episodes[0], episode_features(dataset))
    steps = example(dataset.episodes[0], episode_features(dataset, observation_valid=True))["steps"]
    assert steps["observation_valid"].tolist() == [True, False]


@pytest.mark.parametrize("declared", [{}, {"observation": specs.Array((), np.float64)}])
def test_features_of_another_dataset_do_not_fit(tmp_path: Path, declared: dict[str, specs.Spec]) -> None:
    """TFDS would cast the numbers."""
    spec = specs.Dict(declared) if declared else None
    with EpisodeWriter(tmp_path, spec, record_time=False) as writer, writer.episode() as episode:
        episode.start(np.float64(0.1))
        episode.step(action=np.int64(1), reward=1.0, observation=np.float64(0.2), terminated=True)
    features = tfds.features.FeaturesDict(
        {"steps": tfds.features.Dataset({"observation": np.float32}), "episode_id": TEXT, "end": TEXT}
    )
    with pytest.raises(SpecError, match=r"expected .*float32"):
        example(rlds_kit.open(tmp_path).episodes[0], features)


def test_metadata_that_do_not_fit_are_refused(tmp_path: Path) -> None:
    dataset = rlds_kit.open(record(tmp_path))
    steps = episode_features(dataset, metadata=[])["steps"]
    features = tfds.features.FeaturesDict({"steps": steps, "episode_id": TEXT, "end": TEXT, "score": np.float32})
    with pytest.raises(SpecError, match="metadata 'score'"):
        example(dataset.episodes[1], features)


def test_metadata_that_an_episode_lacks_are_refused(tmp_path: Path) -> None:
    """There is nothing to put in their place."""
    dataset = rlds_kit.open(record(tmp_path))
    steps = episode_features(dataset, metadata=[])["steps"]
    features = tfds.features.FeaturesDict({"steps": steps, "episode_id": TEXT, "end": TEXT, "age": np.int64})
    with pytest.raises(SpecError, match="metadata 'age'"):
        example(dataset.episodes[1], features)
