"""Datasets in the files of TensorFlow Datasets, as `tfds.load` gives those of its catalogue."""

import warnings
from pathlib import Path
from typing import Any

import tensorflow as tf
import tensorflow_datasets as tfds

import rlds_kit
from rlds_kit.base.step import DECLARED_FIELDS, FLAGS


def copy_to_tfds(source: Path, directory: Path) -> None:
    """Writes a recorded dataset as TFDS has it: one example for each episode, the steps nested in it."""
    episodes = [_example(episode) for episode in rlds_kit.open(source).episodes]
    steps = tfds.features.Dataset(tf.nest.map_structure(_feature, episodes[0]["steps"]))
    ids = {name: tfds.features.Text() for name in episodes[0] if name != "steps"}
    features = tfds.features.FeaturesDict({"steps": steps, **ids})
    version = tfds.core.Version("1.0.0")
    identity = tfds.core.DatasetIdentity("recorded", version, data_dir=str(directory), module_name="")
    info = tfds.core.DatasetInfo(builder=identity, features=features)
    writer = tfds.core.SequentialWriter(info, max_examples_per_shard=len(episodes))
    writer.initialize_splits(["train"])
    writer.add_examples({"train": episodes})
    writer.close_all()


def read_tfds(directory: Path) -> tf.data.Dataset:
    """Returns what `tfds.load(..., split="train")` would."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "label.. is deprecated", DeprecationWarning)  # TFDS calls protobuf
        builder = tfds.builder_from_directory(directory)
    return builder.as_dataset(split="train")


def _example(episode: rlds_kit.Episode) -> dict[str, Any]:
    fields = [name for name in episode.fields if name in {*DECLARED_FIELDS, *FLAGS, "tag:placed"}]
    return {"steps": {name: episode[name] for name in fields}, "episode_id": str(episode.id)}


def _feature(rows: Any) -> Any:
    return tfds.features.Tensor(shape=rows.shape[1:], dtype=rows.dtype, encoding="zlib")
