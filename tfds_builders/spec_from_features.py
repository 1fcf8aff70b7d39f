"""The way back from features of TensorFlow Datasets to specs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from rlds_kit import spec as specs
from rlds_kit.base.errors import SpecError
from rlds_kit.tfds_builders.tfds_extra import tfds


def spec_of(feature: Any) -> specs.Spec:
    """Makes the spec of what a feature holds when it has been read.

    A `Dataset` or a `Sequence` is the spec of many elements, stacked as TFDS stacks them; `feature["steps"]` of an
    episode therefore is a `Sequence` whose `element` is the spec of a step. Arrays of text of any length are `Any`.

    Args:
      feature: a `tfds.features.FeatureConnector`.

    Raises:
      SpecError: it gives what no spec describes.

    >>> camera = tfds.features.Image(shape=(64, 64, 3))
    >>> spec_of(tfds.features.FeaturesDict({"camera": camera, "task": tfds.features.Text()}))
    Dict({'camera': Array((64, 64, 3), uint8), 'task': Text()})
    """
    match feature:
        case tfds.features.FeaturesDict():
            return specs.Dict({key: spec_of(item) for key, item in feature.items()})
        case tfds.features.Dataset():
            return specs.Sequence(spec_of(feature.feature))
        case tfds.features.Sequence():
            return _stacked(spec_of(feature.feature), feature)
        case tfds.features.ClassLabel() if feature.num_classes:
            return specs.Array((), np.int64, num_values=feature.num_classes)
        case tfds.features.Text() if not feature.shape:
            return specs.Text()
    return _array(feature, feature.get_tensor_info())


def _stacked(element: specs.Spec, feature: Any) -> specs.Spec:
    if isinstance(element, specs.Array):
        (length, *_) = feature.shape
        return specs.Array((length, *element.shape), element.dtype)
    return specs.Sequence(element, stacked=True)


def _array(feature: Any, info: Any) -> specs.Spec:
    if isinstance(info, Mapping):
        raise SpecError(f"{feature!r} gives a dict that no spec describes; leave it out")
    if info.np_dtype != np.dtype(object):
        return specs.Array(info.shape, info.np_dtype)
    return specs.Any() if info.shape else specs.Bytes()
