"""The statistics of each feature, for LeRobot's normalisation: by episode in `meta/episodes`, of all in `stats.json`.

For numbers, they are computed for each element of the last dimension. For images, they are computed for each channel,
between 0 and 1, from at most a hundred frames of an episode, subsampled to about 150 pixels per side, as in LeRobot.
"""

from typing import Any, Final

import numpy as np

from rlds_kit.base.field_statistics import FieldStatistics
from rlds_kit.convert.lerobot.info import IMAGE, TEXT, Feature

QUANTILES: Final = {"q01": 0.01, "q10": 0.1, "q50": 0.5, "q90": 0.9, "q99": 0.99}
_MOST_FRAMES: Final = 100
_PIXELS: Final = 150
_MOST_SKETCHES: Final = 64
"""Maximum elements of a value for which quantiles are computed; more would take too much memory."""


def statistics_of(values: Any, feature: Feature) -> FieldStatistics | None:
    """The statistics of a feature in one episode; None of text.

    Args:
      values: an array `[frames, *shape]`, images included.
      feature: of the values.
    """
    if feature.dtype == TEXT:
        return None
    if feature.dtype == IMAGE:
        height, width, channels = feature.shape
        frames = np.reshape(values, (-1, height, width, channels))[:: -(-len(values) // _MOST_FRAMES)]
        thin = frames[:, :: max(1, height // _PIXELS), :: max(1, width // _PIXELS)]
        return FieldStatistics.of(thin.reshape(-1, channels))
    rows = np.reshape(values, (-1, feature.shape[-1]))
    return FieldStatistics.of(rows, quantiles=feature.shape[-1] <= _MOST_SKETCHES)


def described(statistics: FieldStatistics, feature: Feature, frames: int) -> dict[str, Any]:
    """Converts statistics to LeRobot's form: lists, those of images `[channels, 1, 1]`."""
    is_image = feature.dtype == IMAGE
    scale = 255.0 if is_image else 1.0
    named = {"min": statistics.min, "max": statistics.max, "mean": statistics.mean, "std": statistics.std}
    if statistics.sketches is not None:
        named |= {name: statistics.quantile(level) for name, level in QUANTILES.items()}
    shape = (-1, 1, 1) if is_image else (-1,)
    found = {name: (np.asarray(each, np.float64) / scale).reshape(shape).tolist() for name, each in named.items()}
    return {**found, "count": [frames]}
