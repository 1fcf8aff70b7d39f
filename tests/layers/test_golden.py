"""A layer that version 1 of the format wrote reads to the truth, with the library and without."""

import uuid
from pathlib import Path
from typing import Any, Final

import numpy as np

from rlds_kit.layers import Annotation, Kind, layers_pb2
from rlds_kit.layers.open_layers import OpenLayers
from rlds_kit.riegeli import RecordReader

ENDED: Final = uuid.UUID("6f9619ff-8b86-4d01-b42d-00cf4fc964ff")
OPEN: Final = uuid.UUID("0e37df36-f698-11e6-8dd4-cb9ced3df976")
DATASET: Final = Path(__file__).parent.parent / "data" / "layers_v1"
SAID: Final = [
    (Kind.TAG, ENDED, range(3, 5), "crash", 0.75, "", False, None),
    (Kind.NOTE, ENDED, None, "Die Hand ist ausgerutscht: \U0001f590", 0.75, "", False, {"page": (1, None)}),
    (Kind.RETURN, ENDED, None, 12.5, 0.0, "", False, None),
    (Kind.FIELD, OPEN, range(4, 5), -1.0, 1.0, "reward", False, None),
    (Kind.FIELD, ENDED, range(7, 10), [[0, 1], [2, 3], [4, 5]], 0.75, "info/score", True, None),
    (Kind.FIELD, ENDED, None, None, 0.75, "mood", False, None),
    (Kind.RETRACTION, ENDED, None, None, 0.75, "", False, None),
]


def _plain(each: Annotation) -> tuple[Any, ...]:
    value = each.value.tolist() if isinstance(each.value, np.ndarray) else each.value
    return each.kind, each.episode, each.steps, value, each.confidence, each.field, each.is_stacked, each.user_data


def test_reads_to_the_truth() -> None:
    """Every kind of annotation, in order."""
    layer = OpenLayers(DATASET).get("review")
    found = layer.history()
    assert [_plain(each) for each in found] == SAID
    assert {each.source for each in found} == {"anna"}
    assert [each.digest for each in found] == [b"" if each.episode == OPEN else bytes(range(16)) for each in found]
    assert found[4].value.dtype == np.int16
    assert found[-1].retracts == found[0].id
    assert [each.id for each in layer.annotations(ENDED)] == [found[1].id, found[2].id, found[4].id, found[5].id]
    assert layer.damage == {}


def test_any_reader_of_riegeli_finds_the_records() -> None:
    """A header, then one record for each flush."""
    (path,) = DATASET.glob("layers/review/annotations-*.riegeli")
    with RecordReader(path) as reader:
        records = [layers_pb2.LayerRecord.FromString(record) for record in reader]
    assert [record.WhichOneof("kind") for record in records] == ["header", *["annotations"] * 3]
    assert [len(record.annotations.annotation) for record in records] == [0, 3, 3, 1]
