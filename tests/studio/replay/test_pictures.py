"""Which arrays are pictures, and how they are shown."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rlds_kit.studio.replay.pictures import frames_of


@pytest.mark.parametrize(
    ("shape", "dtype", "frames"),
    [
        ((84, 84), "uint8", (1, 84, 84)),
        ((210, 160, 3), "uint8", (1, 210, 160, 3)),
        ((3, 64, 64), "float32", (1, 64, 64, 3)),
        ((1, 64, 64), "float32", (1, 64, 64)),
        ((64, 64, 1), "uint8", (1, 64, 64)),
        ((84, 84, 4), "uint8", (4, 84, 84)),
        ((4, 84, 84), "uint8", (4, 84, 84)),
        ((2, 64, 64, 3), "uint8", (2, 64, 64, 3)),
        ((16, 16), "bool", (1, 16, 16)),
        ((30, 40), "uint16", (1, 30, 40)),
    ],
)
def test_shapes_of_pictures(shape: tuple[int, ...], dtype: str, frames: tuple[int, ...]) -> None:
    """The shapes that agents and cameras produce."""
    found = frames_of(np.zeros(shape, dtype))
    assert found is not None
    assert found.pixels.shape == frames


@pytest.mark.parametrize("shape", [(), (3,), (7, 7), (2, 3), (0, 64, 64, 3), (64, 0, 3), (20, 64, 64, 3), (2, 2, 2, 2)])
def test_other_arrays_are_none(shape: tuple[int, ...]) -> None:
    """Other arrays are shown as numbers."""
    assert frames_of(np.zeros(shape, np.uint8)) is None


@pytest.mark.parametrize("value", ["text", None, 3, np.zeros((64, 64), np.complex64), np.full((64, 64), "a")])
def test_other_values_are_none(value: object) -> None:
    assert frames_of(value) is None


@pytest.mark.parametrize("dtype", ["uint8", "int64", "bool"])
def test_whole_numbers_from_0_to_255_are_exact(dtype: str) -> None:
    """Black and white of bools are 0 and 255."""
    pixels = np.arange(256).reshape(16, 16).astype(dtype)
    found = frames_of(pixels)
    assert found is not None
    assert found.is_exact
    wanted = pixels * 255 if dtype == "bool" else pixels
    assert np.array_equal(found.shown(0), wanted)


@given(st.lists(st.floats(width=32), min_size=1, max_size=8))
def test_any_floats_can_be_shown(values: list[float]) -> None:
    """NaN and infinity, too; scaled pictures are never marked as exact."""
    pixels = np.resize(np.array(values, np.float32), (16, 16))
    found = frames_of(pixels)
    assert found is not None
    assert not found.is_exact
    assert found.shown(0).dtype == np.uint8
