"""Stores the objects of every step of recorded episodes as a layer; a replay shows them over its pictures."""

from collections.abc import Sequence
from typing import Any, Final

import numpy as np

from rlds_kit import layers
from rlds_kit.dataset import Dataset
from rlds_kit.shaping.manuals.annotating import FIELD, memory_of
from rlds_kit.shaping.objects.box import Box, ObjectExtractor

OBJECTS: Final = "objects"
"""The field: for each step a dict of `slot` int32 [n], `category` text [n] and `xywh` int16 [n, 4], in pixels."""
_LONGEST: Final = 32


def annotate_boxes(dataset: Dataset, extractor: ObjectExtractor, *, layer: str = "manual", field: str = FIELD) -> int:
    """Adds the bounding boxes of objects to every step of every episode, as a layer with the ragged field `objects`.

    A step has as many boxes as there are objects in the last frame of its observation.

    Args:
      dataset: recorded with `EveryFrame`, whole episodes.
      extractor: of the game.
      layer: the name of the layer.
      field: with the memory, `[n, 128]` uint8 for each step.

    Returns:
      The number of annotated episodes.

    Raises:
      SpecError: an episode does not have this field.
      OSError: the layer cannot be written.
    """
    count = 0
    with dataset.annotator(layer, source=type(extractor).__name__) as annotator:
        for episode in dataset.episodes:
            extractor.reset()
            for step, frames in enumerate(memory_of(episode, field)):
                boxes: Sequence[Box] = ()
                for ram in np.asarray(frames):
                    boxes = extractor.objects(ram)
                annotator.add(layers.amendment(episode, OBJECTS, columns_of(boxes), step))
            count += 1
    return count


def columns_of(boxes: Sequence[Box]) -> dict[str, np.ndarray[Any, Any]]:
    """Converts boxes to the arrays of `OBJECTS`.

    >>> columns_of([Box(0, "Ball", 10, 20, 2, 4)])["xywh"].tolist()
    [[10, 20, 2, 4]]
    """
    return {
        "slot": np.array([each.slot for each in boxes], np.int32),
        "category": np.array([each.category for each in boxes], f"<U{_LONGEST}"),
        "xywh": np.array([each[2:] for each in boxes], np.int16).reshape(-1, 4),
    }


def boxes_of(value: object) -> list[Box]:
    """Converts the arrays of `OBJECTS` to boxes; validates them, because a layer may come from an untrusted source.

    Raises:
      ValueError: the arrays are invalid.

    >>> boxes_of(columns_of([Box(0, "Ball", 10, 20, 2, 4)]))
    [Box(slot=0, category='Ball', x=10, y=20, width=2, height=4)]
    """
    if not isinstance(value, dict) or value.keys() != {"slot", "category", "xywh"}:
        raise ValueError(f"expected slot, category and xywh, got {value!r:.100}")
    slots, categories, places = (np.asarray(value[name]) for name in ("slot", "category", "xywh"))
    count = len(places) if places.ndim else 0
    shapes = (slots.shape, categories.shape, places.shape)
    kinds = (slots.dtype.kind, categories.dtype.kind, places.dtype.kind)
    if shapes != ((count,), (count,), (count, 4)) or kinds[0] not in "iu" or kinds[1:] not in {("U", "i"), ("U", "u")}:
        raise ValueError(f"expected arrays [n], [n] and [n, 4] of numbers and text, got {shapes} of {kinds}")
    rows = zip(slots.tolist(), categories.tolist(), places.tolist(), strict=True)
    return [Box(slot, category, *xywh) for slot, category, xywh in rows]
