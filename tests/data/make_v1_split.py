"""Writes `tests/data/v1_split`, images for the filter PREDICT_SPLIT: run once, committed, never changed.

`PYTHONPATH=. python tests/data/make_v1_split.py` writes it and its truth. `tests/data/v1` is older than the filter.

Each field has noise of another strength, so that each number of bits is noise in one of them. The truth is made from
what is given to the recorder, not from what is read back.
"""

import json
import shutil
from pathlib import Path
from typing import Final
from unittest import mock

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.filter_choice import SPLIT_PREDICTION, FilterChoice
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.predict import lines_of
from rlds_kit.storage.recorder import Recorder
from tests.data.make_v1 import Episode, fixed
from tests.data.make_v1_predict import images_of

HOME: Final = Path(__file__).parent / "v1_split"
DEVIATIONS: Final = (0.0, 0.7, 2.0, 3.0, 6.0, 14.0, 60.0)
SHAPES: Final = ((7, 9, 3), (9, 31), (2, 5, 11, 3), (8, 32), (13, 17), (6, 10, 4), (15, 15))
ROWS: Final = 12


def frames(shape: tuple[int, ...], deviation: float) -> np.ndarray:
    """Images of noise on a scene, `[ROWS, *shape]`; now and then a pixel is far off."""
    random = np.random.default_rng(int(deviation))
    images = random.uniform(60, 190, shape) + deviation * random.standard_normal((ROWS, *shape))
    images.reshape(-1)[:: 3 * images[0].size + 1] = 255
    return images.clip(0, 255).astype(np.uint8)


def record(directory: Path) -> Episode:
    """One episode, two blocks; one field is now and then missing."""
    images = {f"noise_{number}": frames(*each) for number, each in enumerate(zip(SHAPES, DEVIATIONS, strict=True))}
    seen = {name: specs.Array(array.shape[1:], "uint8") for name, array in images.items()}
    spec = specs.Dict({"observation": specs.Dict(seen)})
    policy = FlushPolicy(block_rows=8, interval=None)
    choose = mock.patch.object(FilterChoice, "__call__", return_value=SPLIT_PREDICTION)
    with choose, Recorder(directory, spec, policy=policy) as recorder:
        episode = Episode(recorder, metadata={"name": "noise"})
        for row in range(ROWS):
            step = {"observation": {name: array[row] for name, array in images.items()}}
            episode.row(step | ({"mirror": images["noise_3"][row]} if row % 3 else {}), {} if row else None)
        episode.end(EpisodeEnd.TERMINATED)
    return episode


def noises(directory: Path) -> set[int]:
    """How many bits are noise, in all columns; fails if one of these was not split."""
    return {
        stored[rows * lines_of(tuple(column.shape)).height]
        for column, rows, stored in images_of(directory, pb.PREDICT_SPLIT)
    }


def main() -> None:
    """Writes the dataset and the truth."""
    shutil.rmtree(HOME, ignore_errors=True)
    with fixed(3):
        truth = record(HOME / "dataset").truth
    (HOME / "truth.json").write_text(f"[\n{json.dumps(truth, separators=(',', ':'))}\n]\n", "utf-8")
    if missing := set(range(7)) - noises(HOME / "dataset"):
        raise SystemExit(f"no column has so many bits of noise: {missing}")


if __name__ == "__main__":
    main()
