"""Pictures, as they are encoded for people."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from rlds_kit.trials.frames.picture import Codec, Encoder, Quality, encode, encode_exactly

PICTURES = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)))


@given(PICTURES)
def test_exact_pictures_are_exact(picture: np.ndarray) -> None:
    """As WebP for players, as PNG for replay."""
    shown = encode(picture, Quality.EXACT)
    for data in (shown.data, encode_exactly(picture)):
        np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(data)).convert("RGB")), picture)


def test_better_quality_takes_more_bytes() -> None:
    ramp = np.add.outer(np.arange(96), np.arange(128)).astype(np.uint8)
    picture = np.stack([ramp, ramp.T.repeat(2, 1)[:96, :128], 255 - ramp], 2)
    sizes, errors = [], []
    for quality in (Quality.LOW, Quality.MEDIUM, Quality.HIGH):
        data = encode(picture, quality).data
        sizes.append(len(data))
        errors.append(np.abs(np.asarray(Image.open(io.BytesIO(data)), np.int64) - picture).mean())
    assert sizes == sorted(sizes)
    assert errors == sorted(errors, reverse=True)


def test_pictures_that_are_flat_no_more_are_noticed() -> None:
    """At once by their size, though not every picture is looked at; every one of them shows what it should."""
    flat = np.zeros((60, 80, 3), np.uint8)
    noise = np.random.default_rng(0).integers(0, 256, flat.shape, np.uint8)
    encoder = Encoder()
    codecs = [encoder.encode(picture, Quality.MEDIUM).codec for picture in (flat, flat, noise, noise, noise)]
    assert codecs == [Codec.PNG, Codec.PNG, Codec.PNG, Codec.JPEG, Codec.JPEG]
    later = [encoder.encode(flat, Quality.MEDIUM).codec for _ in range(40)]
    assert later[0] is Codec.JPEG
    assert later[-1] is Codec.PNG


@pytest.mark.parametrize("shape", [(5, 7), (5, 7, 1), (5, 7, 3), (5, 7, 4)])
def test_gray_and_transparent_pictures_are_shown(shape: tuple[int, ...]) -> None:
    data = encode(np.full(shape, 9, np.uint8), Quality.EXACT).data
    assert Image.open(io.BytesIO(data)).size == (7, 5)


@pytest.mark.parametrize("picture", [np.zeros((2, 2)), np.zeros((0, 2, 3), np.uint8), np.zeros((2, 2, 2), np.uint8)])
def test_what_is_no_picture_is_refused(picture: np.ndarray) -> None:
    """With its dtype and shape."""
    with pytest.raises(ValueError, match="expected a picture"):
        encode(picture, Quality.HIGH)
