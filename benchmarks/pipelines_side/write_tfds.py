"""Writes an input as a TFDS dataset of RLDS episodes."""

import argparse
import os
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import tensorflow_datasets as tfds

from pipelines_side.arrays import Arrays

SHARDS: Final = 8
"""More than TFDS itself would make of so little, so that it can read several at once."""


def main() -> None:
    """The command line: the input's arrays, where to write, and how."""
    parser = argparse.ArgumentParser()
    parser.add_argument("arrays", type=Path)
    parser.add_argument("out", type=Path)
    parser.add_argument("--encoding", choices=("png", "zlib", "none"), required=True)
    parser.add_argument("--file-format", choices=("tfrecord", "array_record"), required=True)
    arguments = parser.parse_args()
    write(Arrays(arguments.arrays), arguments.out, arguments.encoding, arguments.file_format)


def write(source: Arrays, out: Path, encoding: str, file_format: str) -> None:
    """Hands whole episodes to TFDS's `SequentialWriter`.

    Args:
      source: the steps.
      out: is made.
      encoding: of observations: "png" as `Image`; "zlib" or "none" as `Tensor`.
      file_format: "tfrecord" or "array_record".
    """
    out.mkdir(parents=True)
    info = tfds.core.DatasetInfo(
        builder=tfds.core.DatasetIdentity(name="steps", version="1.0.0", data_dir=str(out), module_name=""),
        features=tfds.features.FeaturesDict({"steps": tfds.features.Dataset(_features(source, encoding))}),
    )
    in_a_shard = -(-len(source.ends) // SHARDS)
    writer = tfds.core.SequentialWriter(info, in_a_shard, overwrite=True, file_format=file_format)
    writer.initialize_splits(["train"])
    for episode in source.episodes():
        if encoding == "png":
            episode["observation"] = as_images(episode["observation"])
        writer.add_examples({"train": [{"steps": episode}]})
    writer.close_all()


def as_images(observations: np.ndarray) -> np.ndarray:
    """Gray images with a dimension for the one channel."""
    return observations[..., None] if observations.ndim == 3 else observations


def _features(source: Arrays, encoding: str) -> dict[str, Any]:
    plain = {
        name: tfds.features.Tensor(shape=field.shape[1:], dtype=field.dtype)
        for name, field in source.fields.items()
        if name != "observation"
    }
    row = source["observation"][:1]
    if encoding == "png":
        return plain | {"observation": tfds.features.Image(shape=as_images(row)[0].shape, encoding_format="png")}
    return plain | {"observation": tfds.features.Tensor(shape=row[0].shape, dtype=row.dtype, encoding=encoding)}


if __name__ == "__main__":
    main()
