"""Bounding boxes of objects, which a layer has for the steps of an episode; they are shown over its pictures."""

import functools
import uuid
from typing import Any

from rlds_kit.episode.episode import Episode
from rlds_kit.layers import Layer
from rlds_kit.shaping.manuals.boxes import OBJECTS, boxes_of
from rlds_kit.studio.replay.collection import Collection


def step_boxes(collection: Collection, episode: Episode, step: int) -> list[dict[str, Any]]:
    """The boxes of a step in all layers; damaged layers are skipped.

    Returns:
      For each: `slot`, `category`, and `x`, `y`, `width` and `height` in pixels of a screen of 160 x 210.
    """
    return [box for layer in collection.layers() for box in _by_step(layer, episode.id).get(step, ())]


@functools.lru_cache(maxsize=32)  # adding annotations makes a new snapshot
def _by_step(layer: Layer, episode: uuid.UUID) -> dict[int, list[dict[str, Any]]]:
    found: dict[int, list[dict[str, Any]]] = {}
    for each in () if layer.damage else layer.annotations(episode):
        if each.field == OBJECTS and each.steps is not None and len(each.steps) == 1:
            try:
                found[each.steps.start] = [box._asdict() for box in boxes_of(each.value)]
            except ValueError:
                continue  # a layer may have a different field of this name
    return found
