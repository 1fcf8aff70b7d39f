"""Flat pictures: what is shown are the pixels that were drawn, with the C extension and without it."""

import io
import zlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from rlds_kit.trials.frames import png
from rlds_kit.trials.frames.png import native

IMPLEMENTATIONS = [pytest.param(None, id="pure"), pytest.param(native, id="native")]
only_native = pytest.mark.parametrize("implementation", IMPLEMENTATIONS[1:], indirect=True)
needs_extension = pytest.mark.skipif(
    native is None, reason="the C extension is absent: no compiler when this was installed, or RLDS_KIT_PURE=1"
)


@pytest.fixture(params=IMPLEMENTATIONS, autouse=True)
def implementation(request: pytest.FixtureRequest) -> Iterator[object]:
    """Has each test run with both."""
    chosen: object = request.param
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(png, "native", chosen)
        yield chosen


@st.composite
def pictures(draw: st.DrawFn) -> np.ndarray:
    """Of up to 300 colours, in runs, with rows that are alike."""
    height, width = draw(st.integers(1, 12)), draw(st.integers(1, 60))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    colors = rng.integers(0, 256, (draw(st.sampled_from([1, 2, 3, 15, 16, 17, 255, 256, 257, 300])), 3), np.uint8)
    numbers = rng.integers(0, len(colors), (height, width)).repeat(draw(st.integers(1, 20)), axis=1)
    made: np.ndarray = np.ascontiguousarray(colors[numbers.repeat(draw(st.integers(1, 3)), axis=0)])
    return made


def decoded(data: bytes) -> np.ndarray:
    """As a browser sees it."""
    return np.asarray(Image.open(io.BytesIO(data)).convert("RGB"))


@given(pictures())
def test_every_pixel_comes_back(picture: np.ndarray) -> None:
    """However many colours there are, and however wide the picture is."""
    np.testing.assert_array_equal(decoded(png.encode_flat(picture)), picture)


@pytest.mark.parametrize("colors", [1, 16, 17, 256, 257])
def test_the_most_colors_of_each_depth_come_back(colors: int) -> None:
    """Four bits hold 16 numbers, eight hold 256; more colours have no palette."""
    numbers = np.arange(colors)
    row = np.stack([numbers % 256, numbers // 256, 255 - numbers % 256], axis=1).astype(np.uint8)
    picture = np.ascontiguousarray(np.broadcast_to(row, (3, colors, 3)))
    np.testing.assert_array_equal(decoded(png.encode_flat(picture)), picture)


@pytest.mark.parametrize("colors", [1, 2, 16, 200])
@pytest.mark.parametrize("repeated", [1, 3, 40, 300])
def test_large_pictures_come_back(colors: int, repeated: int) -> None:
    """Whether bytes are like none before, or like some that are near, in the row above, or too far to point at."""
    rng = np.random.default_rng(colors)
    numbers = rng.integers(0, colors, (100, 1 + 500 // repeated)).repeat(repeated, axis=1)[:, :500]
    picture = np.stack([numbers, 255 - numbers, numbers], axis=2).astype(np.uint8)
    twice = np.concatenate((picture, picture[::-1], picture))
    np.testing.assert_array_equal(decoded(png.encode_flat(twice)), twice)


@pytest.mark.parametrize("colors", [2, 16, 256])
def test_noise_comes_back(colors: int) -> None:
    """It takes the most bytes: few of them are like any before."""
    numbers = np.random.default_rng(colors).integers(0, colors, (150, 250)) * (255 // (colors - 1))
    picture = np.stack([numbers, numbers, numbers], axis=2).astype(np.uint8)
    np.testing.assert_array_equal(decoded(png.encode_flat(picture)), picture)


def test_gray_pictures_come_back() -> None:
    picture = np.arange(35, dtype=np.uint8).reshape(5, 7)
    np.testing.assert_array_equal(np.asarray(Image.open(io.BytesIO(png.encode_flat(picture)))), picture)


@needs_extension
@only_native
def test_the_extension_makes_fewer_bytes() -> None:
    """It has a palette: half a byte for each pixel."""
    picture = np.random.default_rng(0).integers(0, 2, (50, 50, 1), np.uint8).repeat(3, axis=2) * np.uint8(200)
    with_palette = png.encode_flat(picture)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(png, "native", None)
        assert len(with_palette) < len(png.encode_flat(picture))


@given(pictures())
def test_checksums_are_right(picture: np.ndarray) -> None:
    """Of each chunk, and of what was compressed: a browser is more particular than Pillow."""
    data, at, body = png.encode_flat(picture), 8, b""
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        name, chunk = data[at + 4 : at + 8], data[at + 8 : at + 8 + size]
        assert zlib.crc32(name + chunk) == int.from_bytes(data[at + 8 + size : at + 12 + size], "big")
        body += chunk if name == b"IDAT" else b""
        at += 12 + size
    unpacker = zlib.decompressobj()
    assert unpacker.decompress(body)
    assert unpacker.eof
    assert not unpacker.unused_data


@pytest.mark.parametrize(
    "picture",
    [
        None,
        "text",
        np.zeros((4, 3, 3), np.uint8),
        np.zeros((3, 4), np.uint8),
        np.zeros((3, 4, 4), np.uint8),
        np.zeros((3, 4, 3), np.int8),
        np.zeros((3, 8, 3), np.uint8)[:, ::2],
        np.zeros((1, 3, 4, 3), np.uint8),
    ],
)
def test_another_picture_than_was_said_has_no_palette(picture: np.ndarray | str | None) -> None:
    """Nor has one of another dtype, or one that does not lie in one piece."""
    assert png.encode_palette(picture, 3, 4) is None


@pytest.mark.parametrize("size", [(0, 4), (4, 0), (0, 0)])
def test_an_empty_picture_has_no_palette(size: tuple[int, int]) -> None:
    """There is nothing to encode."""
    assert png.encode_palette(np.zeros((*size, 3), np.uint8), *size) is None


@needs_extension
@only_native
def test_the_extension_checks_its_arguments() -> None:
    """A size is two numbers."""
    assert native is not None
    picture: Any = np.zeros((3, 4, 3), np.uint8)
    for size in ((), (3,), ("3", 4), (3, None), (2**70, 4)):
        with pytest.raises((TypeError, OverflowError)):
            native.encode_palette(picture, *size)
