"""Annotations of recorded episodes: tags, notes, returns, rewards and amendments of any field.

The recorded data are never rewritten: layers are stored beside them, and `Dataset.as_amended` reads both.
"""

from rlds_kit.layers.annotation import Annotation, Kind
from rlds_kit.layers.combine import Rule, latest, votes, weighted_mean, weighted_sum
from rlds_kit.layers.draft import (
    Draft,
    amendment,
    amendments,
    episode_return,
    note,
    retraction,
    reward,
    rewards,
    tag,
)
from rlds_kit.layers.layer import Layer
from rlds_kit.layers.layer_writer import LayerWriter

__all__ = [
    "Annotation",
    "Draft",
    "Kind",
    "Layer",
    "LayerWriter",
    "Rule",
    "amendment",
    "amendments",
    "episode_return",
    "latest",
    "note",
    "retraction",
    "reward",
    "rewards",
    "tag",
    "votes",
    "weighted_mean",
    "weighted_sum",
]
