"""Writes `tests/data/v1_predict`, images for the filter PREDICT: run once, committed, never changed after a release.

`PYTHONPATH=. python tests/data/make_v1_predict.py` writes it and its truth. `tests/data/v1` is older than the filter.

The images are made of noise on top of what every mode expects, so the recorder finds every mode. The truth is made from
what is given to the recorder, not from what is read back.
"""

import itertools
import json
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import numpy as np
import zstandard

from rlds_kit import spec as specs
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.riegeli import RecordReader
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.predict import ABOVE, lines_of, unpredict_twin
from rlds_kit.storage.recorder import Recorder
from tests.data.make_v1 import Episode, fixed

HOME: Final = Path(__file__).parent / "v1_predict"
SHAPES: Final = {"colour": (10, 16, 3), "grey": (9, 30), "stereo": (2, 6, 12, 4), "plane": (2, 4, 40)}
ROWS: Final = 24


def frames(shape: tuple[int, ...], seed: int) -> np.ndarray:
    """Images, `[ROWS, *shape]`, of which each line is much like what some mode expects."""
    random = np.random.default_rng(seed)
    height = lines_of(shape).height
    images = random.integers(0, 5, (ROWS, *shape), np.uint8)
    images[::8] = random.integers(0, 256, images[::8].shape, np.uint8)
    chosen = random.integers(0, ABOVE + 1, ROWS * height, np.uint8)
    unpredict_twin(chosen, images.reshape(ROWS, -1), shape, images.reshape(ROWS, -1))
    return images


def record(directory: Path) -> Episode:
    """One episode, two blocks; one field is now and then missing."""
    images = {name: frames(shape, seed) for seed, (name, shape) in enumerate(SHAPES.items())}
    spec = specs.Dict(
        {"observation": specs.Dict({name: specs.Array(shape, "uint8") for name, shape in SHAPES.items()})}
    )
    with Recorder(directory, spec, policy=FlushPolicy(block_rows=16, interval=None)) as recorder:
        episode = Episode(recorder, metadata={"name": "images"})
        for row in range(ROWS):
            seen = {"observation": {name: array[row] for name, array in images.items()}}
            episode.row(seen | ({"mirror": images["grey"][row]} if row % 3 else {}), {} if row else None)
        episode.end(EpisodeEnd.TERMINATED)
    return episode


def modes(directory: Path) -> set[int]:
    """Those of the lines of all images; fails if one of these was not predicted."""
    found: set[int] = set()
    for column, rows, stored in images_of(directory, pb.PREDICT):
        if column.codec != pb.ZSTD:
            raise SystemExit(f"{column.path} has codec {column.codec}")
        found |= set(stored[: rows * lines_of(tuple(column.shape)).height])
    return found


def images_of(directory: Path, expected: int) -> Iterator[tuple[pb.Column, int, bytes]]:
    """Columns of images, how many rows they have, and what their filter made; fails if one has another filter."""
    for path in directory.glob("*.riegeli"):
        with path.open("rb") as file, warnings.catch_warnings(action="ignore"), RecordReader(file) as reader:
            for data in itertools.takewhile(lambda data: data[:1] == b"\x08", reader):  # up to the footer
                block = pb.Record.FromString(data).block
                columns = pb.BlockHeader.FromString(block.header).columns
                for column, payload in zip(columns, block.payload, strict=True):
                    if column.dtype == "uint8":
                        yield _image(column, payload, expected)


def _image(column: pb.Column, payload: bytes, expected: int) -> tuple[pb.Column, int, bytes]:
    if column.filter != expected:
        raise SystemExit(f"{column.path} has filter {column.filter}")
    if column.codec == pb.ZSTD:
        payload = zstandard.ZstdDecompressor().decompress(payload, max_output_size=column.decoded_length)
    begin = (column.count + 7) // 8 if column.partial else 0
    rows = int.from_bytes(payload[:begin], "little").bit_count() if column.partial else column.count
    return column, rows, payload[begin:]


def main() -> None:
    """Writes the dataset and the truth."""
    shutil.rmtree(HOME, ignore_errors=True)
    with fixed(3):
        truth = record(HOME / "dataset").truth
    (HOME / "truth.json").write_text(f"[\n{json.dumps(truth, separators=(',', ':'))}\n]\n", "utf-8")
    if missing := set(range(ABOVE + 1)) - modes(HOME / "dataset"):
        raise SystemExit(f"no line is predicted in the modes {missing}")


if __name__ == "__main__":
    main()
