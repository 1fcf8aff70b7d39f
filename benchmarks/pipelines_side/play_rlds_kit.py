"""Plays rlds_kit's own loader: NumPy, no framework."""

import itertools
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))
import rlds_kit
from pipelines_side import fields, player
from pipelines_side.player import Batch, Stream


def transitions(shuffle: Any) -> Stream:
    """Batches of transitions; an endless stream has one epoch after the other."""

    def batches(folder: Path, forever: bool) -> Iterator[Batch]:
        epochs = rlds_kit.open(folder / "recording").transitions().batches(fields.BATCH, shuffle=shuffle, seed=0)
        for _ in itertools.count() if forever else range(1):
            for batch in epochs:
                yield {name: batch[name] for name in fields.TRANSITION}

    return batches


def windows(folder: Path, forever: bool) -> Iterator[Batch]:
    """Batches of random windows."""
    dataset = rlds_kit.open(folder / "recording")
    epochs = dataset.windows(fields.WINDOW).batches(fields.WINDOWS, shuffle="global", seed=0)
    for _ in itertools.count() if forever else range(1):
        for batch in epochs:
            yield {name: batch[name] for name in fields.STEP}


def drawn_windows(folder: Path, forever: bool) -> Iterator[Batch]:  # noqa: ARG001
    """Batches of windows that the caller draws evenly from all that there are, so that nothing can be read ahead."""
    samples, rng = rlds_kit.open(folder / "recording").windows(fields.WINDOW), np.random.default_rng(0)
    while True:
        batch = samples.gather(rng.integers(len(samples), size=fields.WINDOWS))
        yield {name: batch[name] for name in fields.STEP}


if __name__ == "__main__":
    player.main(
        {
            "in order": transitions(None),
            "blocks": transitions("blocks"),
            "global": transitions("global"),
            "windows": windows,
            "drawn windows": drawn_windows,
        },
        ("numpy", "zstandard", "xxhash"),
    )
