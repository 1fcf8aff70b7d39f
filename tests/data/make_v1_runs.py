"""Writes `tests/data/v1_runs`, rows for the filter XOR_RUNS: run once, committed, never changed after a release.

`PYTHONPATH=. python tests/data/make_v1_runs.py` writes it and its truth. `tests/data/v1` is older than the filter.

A wide field has gaps and runs that are longer than a pair says. The truth is made from what is given to the recorder,
not from what is read back.
"""

import json
import shutil
import struct
from pathlib import Path
from typing import Final
from unittest import mock

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.compression import THOROUGH_LEVEL
from rlds_kit.storage.filter_choice import Choice, FilterChoice
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder
from tests.data.make_v1 import Episode, fixed
from tests.data.make_v1_predict import images_of

HOME: Final = Path(__file__).parent / "v1_runs"
ROWS: Final = 5
MOST: Final = 65_535


def sprites(shape: tuple[int, ...]) -> np.ndarray:
    """Images in which a block moves, `[ROWS, *shape]`, and now and then a single pixel changes."""
    images = np.full((ROWS, *shape), 50, np.uint8)
    for row, image in enumerate(images):
        image[2:5, 3 * row : 3 * row + 4] = 200
        image.reshape(-1)[7 * row] = row
    return images


def wide() -> np.ndarray:
    """`[ROWS, 210_000]`: a row of zeros but for its end, then longer and longer runs."""
    rows = np.zeros((ROWS, 210_000), np.uint8)
    rows[:, -3:] = 1
    for row, length in enumerate((MOST, MOST + 1, 2 * MOST + 1, 200_000), start=1):
        rows[row, 5 : 5 + length] = row
    return rows


FIELDS: Final = {"grey": sprites((9, 30)), "colour": sprites((7, 16, 3)), "flat": sprites((6, 33)), "wide": wide()}


def record(directory: Path) -> Episode:
    """One episode, two blocks; one field is now and then missing."""
    seen = {name: specs.Array(array.shape[1:], "uint8") for name, array in FIELDS.items()}
    spec = specs.Dict({"observation": specs.Dict(seen)})
    always = Choice(pb.XOR_RUNS, THOROUGH_LEVEL)
    choose = mock.patch.object(FilterChoice, "__call__", return_value=always)
    with choose, Recorder(directory, spec, policy=FlushPolicy(block_rows=4, interval=None)) as recorder:
        episode = Episode(recorder, metadata={"name": "runs"})
        for row in range(ROWS):
            step = {"observation": {name: array[row] for name, array in FIELDS.items()}}
            episode.row(step | ({"mirror": FIELDS["grey"][row]} if row % 3 else {}), {} if row else None)
        episode.end(EpisodeEnd.TERMINATED)
    return episode


def pairs(directory: Path) -> set[str]:
    """Kinds of places in all columns; fails if one of these has another filter."""
    found = set()
    for _, rows, stored in images_of(directory, pb.XOR_RUNS):
        total = sum(struct.unpack_from(f"<{rows}I", stored))
        for gap, length in struct.iter_unpack("<HH", stored[4 * rows : 4 * (rows + total)]):
            found.add("long gap" if length == 0 and gap == MOST else "long run" if length == MOST else "run")
    return found


def main() -> None:
    """Writes the dataset and the truth."""
    shutil.rmtree(HOME, ignore_errors=True)
    with fixed(3):
        truth = record(HOME / "dataset").truth
    (HOME / "truth.json").write_text(f"[\n{json.dumps(truth, separators=(',', ':'))}\n]\n", "utf-8")
    if missing := {"run", "long gap", "long run"} - pairs(HOME / "dataset"):
        raise SystemExit(f"no row has {missing}")


if __name__ == "__main__":
    main()
