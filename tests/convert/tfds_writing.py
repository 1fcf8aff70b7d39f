"""Writes datasets of episodes with the real TensorFlow Datasets."""

import re
import types
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow_datasets as tfds

Episodes = Sequence[Mapping[str, Any]]
FLAGS = {"is_first": np.bool_, "is_last": np.bool_, "is_terminal": np.bool_}


def write(
    data_dir: Path,
    features: Mapping[str, Any],
    splits: Mapping[str, Episodes],
    *,
    file_format: str = "tfrecord",
    shards: int = 1,
    name: str = "sample",
    config: str = "",
) -> Path:
    """Prepares a dataset, of one file in the order of the episodes; returns the directory of its version."""

    def info(builder: Any) -> Any:
        return tfds.core.DatasetInfo(
            builder=builder,
            features=tfds.features.FeaturesDict(dict(features)),
            description="A sample.",
            citation="@misc{sample}",
            homepage="https://sample.example",
            license="CC-BY-4.0",
            disable_shuffling=shards == 1,
        )

    def examples(_builder: Any, split: str) -> Iterator[tuple[int, Mapping[str, Any]]]:
        yield from enumerate(splits[split])

    fields = {
        "__module__": __name__,
        "VERSION": tfds.core.Version("1.2.3"),
        "BUILDER_CONFIGS": [tfds.core.BuilderConfig(name=config)] if config else [],
        "_info": info,
        "_split_generators": lambda builder, _: {each: builder._generate_examples(each) for each in splits},
        "_generate_examples": examples,
    }
    camel = re.sub(r"(?:^|_)(\w)", lambda found: found[1].upper(), name)
    bases = (tfds.core.GeneratorBasedBuilder,)
    kind = types.new_class(camel, bases, {"skip_registration": True}, lambda names: names.update(fields))
    builder = kind(data_dir=data_dir, file_format=file_format)
    settings = tfds.download.DownloadConfig(num_shards=shards)
    builder.download_and_prepare(download_config=settings)
    return Path(builder.data_path)


def steps_of(length: int, *, is_terminal: bool = True, is_last: bool = True) -> list[dict[str, Any]]:
    """The flags of the steps of an episode, to which a test adds its fields."""
    last = length - 1
    return [
        {"is_first": row == 0, "is_last": is_last and row == last, "is_terminal": is_terminal and row == last}
        for row in range(length)
    ]
