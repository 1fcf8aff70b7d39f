"""Boxes of objects in the replay."""

from pathlib import Path

import numpy as np

import rlds_kit
from rlds_kit import layers
from rlds_kit.shaping.manuals.boxes import OBJECTS, columns_of
from rlds_kit.shaping.objects import Box
from tests.studio.replay.datasets import get, record, viewing

BALL = Box(3, "<b>Ball</b>", 10, 20, 2, 4)


def test_a_step_has_the_boxes_of_layers(tmp_path: Path) -> None:
    """The latest boxes of each layer; a field of the same name with other data is ignored."""
    first, second = record(tmp_path)
    dataset = rlds_kit.open(tmp_path)
    with dataset.annotator("manual", source="a test") as annotator:
        annotator.add(layers.amendment(first, OBJECTS, columns_of([]), 2))
        annotator.add(layers.amendment(first, OBJECTS, columns_of([BALL]), 2))
        annotator.add(layers.amendment(first, OBJECTS, {"slot": np.int32(1)}, 3))
        annotator.add(layers.amendment(second, OBJECTS, columns_of([BALL, BALL]), 3))
    with viewing(tmp_path) as client:
        found = [get(client, f"/api/replay/{first}/step/{step}")["boxes"] for step in range(4)]
        assert found == [[], [], [BALL._asdict()], []]
        assert len(get(client, f"/api/replay/{second}/step/3")["boxes"]) == 2
        with dataset.refresh().annotator("late", source="a test") as annotator:
            annotator.add(layers.amendment(first, OBJECTS, columns_of([BALL]), 1))
        assert get(client, f"/api/replay/{first}/step/1")["boxes"] == [BALL._asdict()]
