"""Measures the codecs of one system on all columns; prints JSON.

python play.py rlds_kit inputs.npz
"""

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any, Final

import numpy as np

HERE: Final = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))
from floats_side.codec import blocks_of, measure, size  # noqa: E402

LENGTHS: Final = (1_000, 64)
"""Rows of a block: of an episode of vectors, and of one beside images. Speeds are of the first."""
FEW: Final = 4
"""Blocks of which prototypes compute the size."""


def main(system: str, path: Path) -> dict[str, Any]:
    """By column and codec: bytes, bytes in short blocks, and speeds."""
    columns = np.load(path)
    play = {"rlds_kit": rlds_kit, "blosc2": blosc2, "lance": lance, "prototypes": prototypes}[system]
    found: dict[str, Any] = {"columns": {name: play(columns[name]) for name in columns}}
    packages = {"rlds_kit": ("rlds-kit", "zstandard"), "blosc2": ("blosc2", "pcodec"), "lance": ("pylance",)}
    names = packages.get(system, ())
    return found | {"versions": ", ".join(f"{name} {importlib.metadata.version(name)}" for name in names)}


def rlds_kit(column: np.ndarray) -> dict[str, Any]:
    """Filters of the format, and what the recorder chooses."""
    sys.path.insert(0, str(HERE.parents[1]))
    from floats_side import ours

    blocks = blocks_of(column, LENGTHS[0])
    return {"choice": ours.choice(blocks[0])} | {codec.name: _both(codec, column) for codec in ours.candidates()}


def blosc2(column: np.ndarray) -> dict[str, Any]:
    """Blosc2 and pcodec."""
    from floats_side import peers

    return {codec.name: _both(codec, column) for codec in peers.candidates()}


def lance(column: np.ndarray) -> dict[str, Any]:
    """Whole columns as tables."""
    from floats_side import tables

    return dict(tables.measure(column))


def prototypes(column: np.ndarray) -> dict[str, Any]:
    """Sizes only; of floats only."""
    sys.path.insert(0, str(HERE.parents[1]))
    from floats_side.prototypes import sizes

    if column.dtype.kind != "f":
        return {}
    found = {}
    for name, bytes_of in sizes().items():
        long, short = ([bytes_of(block) / block.size for block in blocks_of(column, rows)[:FEW]] for rows in LENGTHS)
        found[name] = {"bytes": float(np.mean(long)), "short": float(np.mean(short))}
    return found


def _both(codec: Any, column: np.ndarray) -> dict[str, float]:
    return measure(codec, blocks_of(column, LENGTHS[0])) | {"short": size(codec, blocks_of(column, LENGTHS[1]))}


if __name__ == "__main__":
    print(json.dumps(main(sys.argv[1], Path(sys.argv[2]))))
