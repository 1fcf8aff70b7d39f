"""Plays rlds_kit's recordings through tf.data: its loader's batches, and its dense episodes through transformations."""

import itertools
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import rlds_kit
from pipelines_side import fields, player
from pipelines_side.player import Batch, Stream
from rlds_kit import transformations as rlt


def loader(shuffle: Any) -> Stream:
    """Batches of the loader as tensors; an endless stream has one epoch after the other."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        samples = rlds_kit.open(folder / "recording").transitions()
        epochs = samples.batches(fields.BATCH, shuffle=shuffle, seed=0).as_tf_dataset()
        for _ in itertools.count() if forever else range(1):
            for batch in epochs.as_numpy_iterator():
                yield {name: batch[name] for name in fields.TRANSITION}

    return batches


def dense_episodes(folder: Path, forever: bool) -> Iterator[Batch]:
    """Slices of whole episodes in the order of the recording, cut into batches."""
    episodes = rlds_kit.open(folder / "recording").as_dense_tf_dataset()
    found = (episodes.repeat() if forever else episodes).map(lambda episode: rlt.transitions(episode["steps"]))
    for batch in found.rebatch(fields.BATCH).prefetch(2).as_numpy_iterator():
        yield {name: batch[name] for name in fields.TRANSITION}


if __name__ == "__main__":
    player.main(
        {"blocks": loader("blocks"), "global": loader("global"), "dense episodes": dense_episodes},
        ("tensorflow_cpu", "numpy"),
    )
