"""Values that are pictures, and fields with such values."""

from typing import Any

import numpy as np
import pytest

from rlds_kit import spec as specs
from rlds_kit.tools.video.episode_frames import Captions
from rlds_kit.tools.video.errors import VideoError
from rlds_kit.tools.video.pictures import chosen_field, image_fields, picture

RED = np.zeros((18, 20, 3), np.uint8) + np.array([255, 0, 0], np.uint8)
GRAY = np.arange(360, dtype=np.uint8).reshape(18, 20)


@pytest.mark.parametrize(
    ("value", "options", "expected"),
    [
        (RED, {}, RED),
        (np.moveaxis(RED, -1, 0), {}, RED),
        (np.concatenate([RED, RED[..., :1]], axis=2), {}, RED),
        (GRAY, {}, np.stack([GRAY] * 3, axis=2)),
        (GRAY[..., np.newaxis], {}, np.stack([GRAY] * 3, axis=2)),
        (RED[..., 0] > 0, {}, np.full((18, 20, 3), 255, np.uint8)),
        (RED.astype(np.float32) / 255, {}, RED),
        (RED.astype(np.float16), {"maximum": 255}, RED),
        (np.full((18, 20), 0.5), {}, np.full((18, 20, 3), 128, np.uint8)),
        (np.stack([GRAY * 0, GRAY]), {"stacked": True}, np.stack([GRAY] * 3, axis=2)),
        (np.stack([GRAY * 0, GRAY], axis=2), {"stacked": True}, np.stack([GRAY] * 3, axis=2)),
        (np.stack([RED * 0, RED]), {"stacked": True}, RED),
    ],
)
def test_values_become_red_green_and_blue(value: np.ndarray, options: dict[str, Any], expected: np.ndarray) -> None:
    """Gray, alpha, channels first, bool, floats and stacks of frames."""
    made = picture(value, "observation", **options)
    assert made.dtype == np.uint8
    assert np.array_equal(made, expected)


@pytest.mark.parametrize(
    ("value", "options", "message"),
    [
        (np.zeros((4, 18, 20), np.uint8), {}, "stacked"),
        (np.zeros((2, 18, 20, 3), np.uint8), {}, "stacked"),
        (np.zeros((18, 20, 2), np.uint8), {}, "stacked"),
        (np.zeros(20, np.uint8), {}, "expected an image"),
        (np.zeros((0, 20, 3), np.uint8), {}, "expected an image"),
        (np.zeros((18, 20), np.uint8), {"stacked": True}, "expected stacked"),
        (np.zeros((18, 20), np.int64), {}, "int64"),
        (np.full((18, 20), 200.0), {}, "--white"),
        (np.full((18, 20), -0.1), {}, "--white"),
        (np.full((18, 20), np.nan), {}, "between"),
    ],
)
def test_what_is_no_picture_is_refused(value: np.ndarray, options: dict[str, Any], message: str) -> None:
    with pytest.raises(VideoError, match=message):
        picture(value, "observation, step 3", **options)


def test_the_only_field_of_images_is_found() -> None:
    """Others are too small, flat, or of other numbers."""
    inner = {
        "camera": specs.Array((64, 64, 3), np.uint8),
        "ram": specs.Array((128,), np.uint8),
        "tiny": specs.Array((4, 4), np.uint8),
        "map": specs.Array((64, 64), np.int32),
    }
    spec = specs.Dict({"observation": specs.Dict(inner), "action": specs.Array((2,), np.float32)})
    assert list(image_fields(spec)) == ["observation/camera"]
    assert chosen_field(spec, None)[0] == "observation/camera"
    assert chosen_field(spec, "observation/tiny") == ("observation/tiny", inner["tiny"])


def test_none_or_several_fields_have_to_be_named() -> None:
    array = specs.Array((64, 64, 3), np.uint8)
    with pytest.raises(VideoError, match="left, right"):
        chosen_field(specs.Dict({"left": array, "right": array}), None)
    with pytest.raises(VideoError, match="the dataset has action"):
        chosen_field(specs.Dict({"action": specs.Array((2,), np.float32)}), None)


def test_captions_are_short() -> None:
    """Of long vectors, nests and text, too; undefined is a dash."""
    assert Captions(0, None, None, None).lines == ("step 0", "action -", "reward -", "return -")
    (_, action, _, _) = Captions(0, {"arm": np.zeros(100), "grip": np.int64(1)}, 1.0, 2.0).lines
    assert len(action) < 40
    assert Captions(0, np.array([0.123456, 2]), 0, 0.0).lines[1] == "action [0.1235, 2]"
