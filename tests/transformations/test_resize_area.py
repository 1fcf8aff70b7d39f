"""Shrinking images against OpenCV, bit for bit."""

import cv2
import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rlds_kit.transformations.resize_area import resize_area

sizes = st.integers(1, 40)


def opencv(images: np.ndarray, height: int, width: int) -> np.ndarray:
    """What Gymnasium's wrapper calls."""
    return np.stack([cv2.resize(image, (width, height), interpolation=cv2.INTER_AREA) for image in images])


@settings(max_examples=60)
@given(st.data(), sizes, sizes, st.integers(0, 2**32 - 1), st.sampled_from([256, 4, 2]))
def test_any_size(data: st.DataObject, full_height: int, full_width: int, seed: int, levels: int) -> None:
    """Few levels of gray make many means that are half-way between two integers."""
    height, width = data.draw(st.integers(1, full_height)), data.draw(st.integers(1, full_width))
    images = np.random.default_rng(seed).integers(0, levels, (3, full_height, full_width), np.uint8)
    images *= 255 // (levels - 1)
    actual = resize_area(tf.constant(images), height, width).numpy()
    np.testing.assert_array_equal(actual, opencv(images, height, width))


@pytest.mark.parametrize("size", [(84, 84), (96, 96), (64, 64), (83, 83), (210, 84), (105, 80), (42, 40), (210, 160)])
def test_frames_of_atari(size: tuple[int, int]) -> None:
    """The sizes that are used, those without a common divisor, and those of whole areas."""
    images = np.random.default_rng(0).integers(0, 3, (40, 210, 160), np.uint8) * 127
    actual = resize_area(tf.constant(images), *size).numpy()
    np.testing.assert_array_equal(actual, opencv(images, *size))


def test_no_images_give_no_images() -> None:
    """Of the requested size."""
    assert resize_area(tf.zeros([0, 210, 160], tf.uint8), 84, 84).shape == (0, 84, 84)


@pytest.mark.parametrize("size", [(0, 3), (3, 5), (5, 3)])
def test_only_shrinking_is_possible(size: tuple[int, int]) -> None:
    """`INTER_AREA` means something else for growing images."""
    with pytest.raises(ValueError, match=r"to be shrunk to height . and width .; they are of height 4 and width 4"):
        resize_area(tf.zeros([1, 4, 4], tf.uint8), *size)
