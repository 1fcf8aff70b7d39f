"""Features and configs of TensorFlow Datasets, made from data and specs: the names of `rlds.tfds`.

A recording of `rlds_kit` does not need this module: `episode_features` uses its spec.
"""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import numpy as np

from rlds_kit.base.rlds_types import ACTION, CORE_STEP_FIELDS, DISCOUNT, OBSERVATION, REWARD, STEPS
from rlds_kit.tfds_builders.tfds_extra import tfds

IMAGE_CHANNELS: Final[Mapping[str, Mapping[Any, tuple[int, ...]]]] = {
    "png": {np.uint8: (1, 3, 4), np.uint16: (1, 3, 4), np.float32: (1,)},
    "jpeg": {np.uint8: (1, 3)},
}
"""Numbers of channels, by encoding and dtype, with which TensorFlow decodes arrays `[height, width, channels]` as they
were."""


def extract_feature_from_data(
    data: Any,
    use_images: bool,
    image_encoding: str | None,
    field_name: str | None = None,
    squeeze_scalars: bool = True,
    convert_tuple_to_list: bool = False,
    tensor_encoding: Any = tfds.features.Encoding.ZLIB,
) -> Any:  # a feature connector, or the tf.DType of a scalar
    """The features for values like `data`.

    Args:
      data: a value, or a tensor spec: nested dicts and lists of tensors, arrays, Python scalars, or of anything with
        `shape` and `dtype`. Elements of a list are of one kind.
      use_images: arrays `[height, width, channels]` that `image_encoding` can store, and text scalars, are images if
        `image` or `Image` is in their name.
      image_encoding: of the images: "png" or "jpeg". JPEG is lossy.
      field_name: the name of `data`.
      squeeze_scalars: an array of shape (1,) becomes a scalar.
      convert_tuple_to_list: tuples become lists; without it they are an error.
      tensor_encoding: of arrays, as for `tfds.features.Tensor`.

    Raises:
      ValueError: TFDS has no feature for it; the message names the place.

    >>> extract_feature_from_data({"image": np.zeros((64, 64, 3), np.uint8)}, True, "png")
    FeaturesDict({
        'image': Image(shape=(64, 64, 3), dtype=uint8),
    })
    """

    def extracted(item: Any, name: str | None) -> Any:
        return extract_feature_from_data(
            item, use_images, image_encoding, name, squeeze_scalars, convert_tuple_to_list, tensor_encoding
        )

    match data:
        case Mapping():
            return tfds.features.FeaturesDict({key: extracted(item, key) for key, item in data.items()})
        case tuple() if not convert_tuple_to_list:
            raise ValueError(
                f"{_called(field_name)}: TFDS has no tuples; pass convert_tuple_to_list=True, or use dicts or lists"
            )
        case tuple() | list():
            return _sequence([extracted(item, field_name) for item in data], field_name)
    return _leaf(data, field_name, image_encoding if use_images else None, tensor_encoding, squeeze=squeeze_scalars)


def generate_config_from_spec(
    episode_spec: Any, name: str = "default_config", use_images: bool = True, image_encoding: str = "png"
) -> Any:  # tfds.rlds.rlds_base.DatasetConfig
    """The config of a dataset whose episodes have a spec; `EpisodeWriter` takes it.

    Args:
      episode_spec: of an episode: the `element_spec` of a dataset of episodes, `{"steps": DatasetSpec, ...}`.
      name: of the config.
      use_images: as for `extract_feature_from_data`; an observation that is itself such an array is an image, too.
      image_encoding: of the images.

    Raises:
      ValueError: TFDS has no feature for a field.

    >>> steps = tf.data.Dataset.from_tensors({"observation": 1.0, "is_first": True, "is_last": True})
    >>> generate_config_from_spec({"steps": tf.data.DatasetSpec.from_value(steps)}).observation_info
    tf.float32
    """

    def extracted(spec: Any, field: str) -> Any:
        # Not squeezed: a feature of shape () accepts no array of shape (1,).
        return extract_feature_from_data(spec, use_images, image_encoding, field, squeeze_scalars=False)

    steps = episode_spec[STEPS].element_spec
    found = {field: extracted(spec, field) for field, spec in steps.items()}
    if use_images and OBSERVATION in steps and _is_image_array(steps[OBSERVATION], image_encoding):
        found[OBSERVATION] = extract_feature_from_data(steps[OBSERVATION], True, image_encoding, "image")
    return tfds.rlds.rlds_base.DatasetConfig(
        name=name,
        observation_info=found.get(OBSERVATION),
        action_info=found.get(ACTION),
        reward_info=found.get(REWARD),
        discount_info=found.get(DISCOUNT),
        step_metadata_info={field: each for field, each in found.items() if field not in CORE_STEP_FIELDS},
        episode_metadata_info={field: extracted(spec, field) for field, spec in episode_spec.items() if field != STEPS},
    )


def _sequence(features: Sequence[Any], field_name: str | None) -> Any:
    if not features:
        raise ValueError(
            f"{_called(field_name)}: expected a list with elements: an empty one does not say what it holds"
        )
    kinds = list(dict.fromkeys(map(repr, features)))
    if len(kinds) > 1:
        raise ValueError(f"{_called(field_name)}: expected elements of one kind, got {' and '.join(kinds)}; use a dict")
    return tfds.features.Sequence(feature=features[0])


def _leaf(data: Any, field_name: str | None, image_encoding: str | None, tensor_encoding: Any, *, squeeze: bool) -> Any:
    import tensorflow as tf

    shape, dtype = _shape_and_dtype(data, field_name)
    is_scalar = shape == () or (squeeze and shape == (1,))
    if (
        image_encoding is not None
        and image_encoding in IMAGE_CHANNELS
        and "image" in (field_name or "").replace("I", "i")
    ):
        if dtype == tf.string and not shape:
            return tfds.features.Image(encoding_format=image_encoding)
        if _is_image_array(data, image_encoding):
            return tfds.features.Image(shape=shape, dtype=dtype.as_numpy_dtype, encoding_format=image_encoding)
    if is_scalar:
        return dtype
    return tfds.features.Tensor(shape=shape, dtype=dtype.as_numpy_dtype, encoding=tensor_encoding)


def _is_image_array(data: Any, image_encoding: str) -> bool:
    if not hasattr(data, "shape"):
        return False
    shape, dtype = _shape_and_dtype(data, None)
    channels = IMAGE_CHANNELS.get(image_encoding, {}).get(dtype.as_numpy_dtype, ())
    return len(shape) == 3 and shape[-1] in channels


def _shape_and_dtype(data: Any, field_name: str | None) -> tuple[tuple[int | None, ...], Any]:  # and a tf.DType
    """Returns shape and dtype of a tensor, array, spec or Python scalar."""
    import tensorflow as tf

    if hasattr(data, "shape") and hasattr(data, "dtype"):
        shape, dtype = tf.TensorShape(data.shape), data.dtype
    elif isinstance(data, bool | int | float | str | bytes):
        shape, dtype = tf.TensorShape([]), np.asarray(data).dtype
    else:
        raise ValueError(
            f"{_called(field_name)}: expected arrays, tensors, specs or scalars, got {type(data).__name__}"
        )
    if shape.rank is None:
        raise ValueError(f"{_called(field_name)}: expected a known number of dimensions; TFDS wants it")
    is_text = isinstance(dtype, np.dtype) and dtype.kind in "SU"
    return tuple(shape.as_list()), tf.string if is_text else tf.as_dtype(dtype)


def _called(field_name: str | None) -> str:
    return field_name or "the data"
