"""Features and configs from data and specs, and what `rlds.tfds` did wrong."""

from typing import Any

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_datasets as tfds

from rlds_kit.tfds_builders import extract_feature_from_data, generate_config_from_spec

FLAGS = {"is_first": False, "is_last": False}


def spec_of(step: dict[str, Any], **metadata: Any) -> dict[str, Any]:
    """The spec of episodes with such steps."""
    steps = tf.data.DatasetSpec.from_value(tf.data.Dataset.from_tensors({**FLAGS, **step}))
    return {"steps": steps, **{name: tf.TensorSpec.from_tensor(tf.constant(value)) for name, value in metadata.items()}}


@pytest.mark.parametrize("channels", [1, 3, 4])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_images_of_all_channels(channels: int, dtype: Any) -> None:
    """An array called image is an image in colour, too: the original took only those of one channel."""
    feature = extract_feature_from_data({"image": np.zeros((4, 4, channels), dtype)}, True, "png")["image"]
    assert isinstance(feature, tfds.features.Image)
    assert feature.shape == (4, 4, channels)


@pytest.mark.parametrize(
    ("array", "encoding"),
    [
        (np.zeros((4, 4, 2), np.uint8), "png"),  # TensorFlow does not decode two channels
        (np.zeros((4, 4, 3), np.float32), "png"),
        (np.zeros((4, 4, 4), np.uint8), "jpeg"),
        (np.zeros((4, 4, 3), np.uint16), "jpeg"),
        (np.zeros((2, 4, 4, 1), np.uint8), "png"),
        (np.zeros((4, 4, 3), np.uint8), None),
    ],
)
def test_what_an_encoding_cannot_hold_is_a_tensor(array: np.ndarray, encoding: str | None) -> None:
    feature = extract_feature_from_data({"image": array}, True, encoding)["image"]
    assert type(feature) is tfds.features.Tensor


def test_every_image_comes_back_exactly() -> None:
    """Arrays that are stored as PNG are decoded to the same values."""
    rng = np.random.default_rng(0)
    data = {
        f"image_{dtype.__name__}_{channels}": rng.integers(
            0, np.iinfo(dtype).max, (5, 7, channels), dtype, endpoint=True
        )
        for dtype in (np.uint8, np.uint16)
        for channels in (1, 3, 4)
    }
    data["image_float"] = rng.normal(size=(5, 7, 1)).astype(np.float32)
    features = extract_feature_from_data(data, True, "png")
    decoded = features.deserialize_example(features.serialize_example(data))
    for name, array in data.items():
        assert isinstance(features[name], tfds.features.Image)
        np.testing.assert_array_equal(decoded[name], array)


@pytest.mark.parametrize("encoding", [tfds.features.Encoding.NONE, tfds.features.Encoding.BYTES])
def test_the_encoding_reaches_arrays_in_dicts(encoding: Any) -> None:
    """The original forgot it below the first dict."""
    data = {"outer": {"inner": np.zeros((2, 2))}, "items": [{"inner": np.zeros((2, 2))}]}
    features = extract_feature_from_data(data, False, None, tensor_encoding=encoding)
    assert features["outer"]["inner"]._encoding == encoding
    assert features["items"].feature["inner"]._encoding == encoding


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (True, tf.bool),
        (3, tf.int64),
        (2.5, tf.float64),
        ("text", tf.string),
        (b"bytes", tf.string),
        (np.str_("text"), tf.string),
        (np.float32(1), tf.float32),
        (tf.TensorSpec([], tf.int32), tf.int32),
    ],
)
def test_scalars(value: Any, dtype: Any) -> None:
    """Python's scalars have features, too: the original failed because they have no dtype."""
    assert extract_feature_from_data(value, True, "png") == dtype


def test_lists_of_several_kinds_are_refused() -> None:
    """The original took the first element for all."""
    with pytest.raises(ValueError, match=r"joints: expected elements of one kind, got .*float32.* and .*int64"):
        extract_feature_from_data({"joints": [np.float32(1), np.int64(1)]}, False, None)


def test_tuples_become_lists_on_request() -> None:
    feature = extract_feature_from_data({"outer": {"pair": (1, 2)}}, False, None, convert_tuple_to_list=True)
    assert isinstance(feature["outer"]["pair"], tfds.features.Sequence)
    with pytest.raises(ValueError, match="pair: TFDS has no tuples"):
        extract_feature_from_data({"pair": (1, 2)}, False, None)


@pytest.mark.parametrize("value", [None, object(), {1, 2}])
def test_what_has_no_feature_is_named(value: Any) -> None:
    """The error has its place."""
    with pytest.raises(ValueError, match="thing: expected arrays, tensors, specs or scalars"):
        extract_feature_from_data({"thing": value}, False, None)


def test_a_tensor_of_unknown_rank_is_refused() -> None:
    """TFDS has no feature for it."""
    with pytest.raises(ValueError, match="known number of dimensions"):
        extract_feature_from_data({"thing": tf.TensorSpec(None, tf.float32)}, False, None)


def test_config_without_action_and_reward() -> None:
    """Steps need no field but the flags: the original wanted observation, action and reward."""
    config = generate_config_from_spec(spec_of({"state": np.zeros(3)}))
    assert (config.observation_info, config.action_info, config.reward_info, config.discount_info) == (None,) * 4
    assert list(config.step_metadata_info) == ["state"]


def test_config_of_all_fields() -> None:
    """Every field of a step and of an episode finds its place."""
    step = {
        "observation": {"image": np.zeros((4, 4, 3), np.uint8)},
        "action": 1,
        "reward": 1.0,
        "discount": 1.0,
        "tag": "a",
    }
    config = generate_config_from_spec(spec_of({**step, "is_terminal": False}, episode_id="e"), name="mine")
    assert config.name == "mine"
    assert isinstance(config.observation_info["image"], tfds.features.Image)
    assert (config.action_info, config.reward_info, config.discount_info) == (tf.int32, tf.float32, tf.float32)
    assert config.step_metadata_info == {"tag": tf.string}
    assert config.episode_metadata_info == {"episode_id": tf.string}


@pytest.mark.parametrize(("use_images", "kind"), [(True, tfds.features.Image), (False, tfds.features.Tensor)])
def test_an_observation_that_is_an_image(use_images: bool, kind: type) -> None:
    """It needs no dict around it: in the original a top-level observation had no name and was never an image."""
    config = generate_config_from_spec(spec_of({"observation": np.zeros((4, 4, 3), np.uint8)}), use_images=use_images)
    assert type(config.observation_info) is kind


def test_an_observation_of_text_is_text() -> None:
    """It is not taken for an encoded image."""
    assert generate_config_from_spec(spec_of({"observation": "left"})).observation_info == tf.string


def test_arrays_of_one_element_keep_their_shape_in_a_config() -> None:
    """A feature of shape () refuses arrays of shape (1,), which is what the data has."""
    config = generate_config_from_spec(spec_of({"reward": np.zeros(1, np.float32)}))
    assert config.reward_info.shape == (1,)
