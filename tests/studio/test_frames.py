"""Frames: header and picture."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from PIL import Image

from rlds_kit.studio.frames.header import SIZE, Codec, Flags, Header, pack, unpack
from rlds_kit.studio.frames.picture import Encoder, Quality, encode, encode_exactly

U32 = st.integers(0, 2**32 - 1)
HEADERS = st.builds(
    Header,
    st.sampled_from(Codec),
    st.sampled_from([Flags(0), Flags.FIRST, Flags.TERMINATED | Flags.TRUNCATED]),
    U32,
    U32,
    st.integers(-(2**63), 2**63 - 1),
    st.floats(allow_nan=False),
    st.integers(0, 100),
)
PICTURES = arrays(np.uint8, st.tuples(st.integers(1, 9), st.integers(1, 9), st.just(3)))


@given(HEADERS)
def test_headers_come_back(header: Header) -> None:
    assert unpack(pack(header) + bytes(header.size)) == header


@given(st.binary(max_size=80))
def test_other_bytes_are_no_frame(data: bytes) -> None:
    """They are an error, never a picture."""
    with pytest.raises(ValueError, match="expected"):
        unpack(data)


def test_a_frame_of_the_wrong_size_is_refused() -> None:
    """What was cut off is not shown."""
    data = pack(Header(Codec.PNG, Flags(0), 1, 2, 3, 4.0, 10)) + bytes(9)
    with pytest.raises(ValueError, match="expected 10 bytes"):
        unpack(data)
    assert len(data) == SIZE + 9


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
