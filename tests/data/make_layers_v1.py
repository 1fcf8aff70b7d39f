"""Wrote `layers_v1`: a layer of version 1 of the format, which must open for ever. Never run it again for version 1.

`tests/layers/test_golden.py` has the truth; only ids, times and the file's name are not in it.
"""

import sys
from pathlib import Path

import numpy as np

from rlds_kit import layers
from rlds_kit.layers.layer_writer import LayerWriter
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.layers.subjects import Subject, Subjects
from tests.layers.test_golden import ENDED, OPEN

DATASET = Path(__file__).parent / "layers_v1"


def main() -> None:
    """Writes it, unless it is there."""
    if DATASET.exists():
        sys.exit(f"{DATASET} is there")
    subjects = Subjects(DATASET, {})
    subjects._known = {ENDED: Subject(bytes(range(16)), 20, is_open=False), OPEN: Subject(b"", 5, is_open=True)}
    DATASET.mkdir()
    with LayerWriter(DATASET, "review", "anna", 0.75, subjects, OpenLayers(DATASET).find) as writer:
        tag = writer.add(layers.tag(ENDED, "crash", range(3, 5)))
        writer.add(layers.note(ENDED, "Die Hand ist ausgerutscht: \U0001f590", user_data={"page": (1, None)}))
        writer.add(layers.episode_return(ENDED, 12.5, confidence=0.0))
        writer.flush()
        writer.add(layers.reward(OPEN, -1.0, 4, confidence=1.0))
        writer.add(layers.amendments(ENDED, "info/score", np.arange(6, dtype=np.int16).reshape(3, 2), 7))
        writer.add(layers.amendment(ENDED, "mood", None))
        writer.flush()
        writer.add(layers.retraction(tag))


if __name__ == "__main__":
    main()
