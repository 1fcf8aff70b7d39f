"""PNG and JPEG, with OpenCV and with Pillow."""

import io
import sys
from typing import Any

import cv2
import numpy as np
import pytest
from PIL import Image

from rlds_kit.base.errors import FormatError
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.convert.images import decode

RNG = np.random.default_rng(0)
UINT8 = np.dtype(np.uint8)


@pytest.fixture(params=["cv2", "PIL"])
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One decoder, as if the other were not installed."""
    other = {"cv2": "PIL", "PIL": "cv2"}[request.param]
    monkeypatch.setitem(sys.modules, other, None)
    return str(request.param)


def png(image: np.ndarray | Image.Image) -> bytes:
    """An image as a file."""
    if isinstance(image, np.ndarray):
        image = Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()


FRAMES = {channels: RNG.integers(0, 256, (6, 5, channels), np.uint8) for channels in (1, 2, 3, 4)}
FILES = {channels: png(pixels) for channels, pixels in FRAMES.items()}
DEEP = RNG.integers(0, 65536, (6, 5, 1), np.uint16)
DEEP_FILE = cv2.imencode(".png", DEEP)[1].tobytes()
DEEP_COLOUR = cv2.imencode(".png", RNG.integers(0, 65536, (6, 5, 3), np.uint16))[1].tobytes()
DEPTH = RNG.normal(size=(6, 5, 1)).astype(np.float32)
DEPTH_FILE = png(DEPTH.view(np.uint8))
PALETTE = Image.fromarray(FRAMES[3]).quantize(8)
COLOURS = np.asarray(PALETTE.convert("RGB"))
PALETTE_FILE = png(PALETTE)


@pytest.mark.parametrize("channels", [1, 3, 4])
def test_png(decoder: str, channels: int) -> None:
    """Grey, colour, and colour with alpha, bit for bit, in shapes known and not."""
    for shape in ((6, 5, channels), (None, None, channels)):
        assert np.array_equal(decode(FILES[channels], shape, UINT8), FRAMES[channels])


def test_grey_with_alpha(decoder: str) -> None:
    """Two channels, which OpenCV gives as four."""
    assert np.array_equal(decode(FILES[2], (6, 5, 2), UINT8), FRAMES[2])


def test_sixteen_bits(decoder: str) -> None:
    assert np.array_equal(decode(DEEP_FILE, (6, 5, 1), np.dtype(np.uint16)), DEEP)


def test_floats(decoder: str) -> None:
    """TFDS stores a float as the four channels of a PNG."""
    found = decode(DEPTH_FILE, (6, 5, 1), np.dtype(np.float32))
    assert (found.dtype, found.tobytes()) == (DEPTH.dtype, DEPTH.tobytes())


def test_channels_as_tensorflow_has_them(decoder: str) -> None:
    """Grey becomes colour and an alpha channel is dropped where the feature says three channels."""
    assert np.array_equal(decode(FILES[1], (6, 5, 3), UINT8), np.repeat(FRAMES[1], 3, 2))
    assert np.array_equal(decode(FILES[4], (6, 5, 3), UINT8), FRAMES[4][..., :3])


def test_palettes(decoder: str) -> None:
    """A PNG with a palette is a colour image."""
    assert np.array_equal(decode(PALETTE_FILE, (6, 5, 3), UINT8), COLOURS)


def test_both_decode_jpeg_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same library of JPEG is in both."""
    file = io.BytesIO()
    Image.fromarray(RNG.integers(0, 256, (64, 48, 3), np.uint8)).save(file, "JPEG", quality=80)
    with_opencv = decode(file.getvalue(), (64, 48, 3), UINT8)
    monkeypatch.setitem(sys.modules, "cv2", None)
    assert np.abs(with_opencv.astype(int) - decode(file.getvalue(), (64, 48, 3), UINT8)).max() <= 1


@pytest.mark.parametrize("data", [b"", b"no image", FILES[3][:30], FILES[3][:-40]])
def test_other_bytes_are_refused(decoder: str, data: bytes) -> None:
    """What is no image, or the first part of one, is an error."""
    with pytest.raises(FormatError):
        decode(data, (6, 5, 3), UINT8)


@pytest.mark.parametrize(
    ("data", "shape", "dtype"),
    [
        (FILES[3], (6, 6, 3), np.uint8),
        (FILES[3], (6, 5, 1), np.uint8),
        (FILES[3], (6, 5, 3), np.uint16),
        (FILES[3], (6, 5, 1), np.float32),
        (DEEP_FILE, (6, 5, 1), np.uint8),
    ],
)
def test_other_images_are_refused(decoder: str, data: bytes, shape: tuple[int, ...], dtype: Any) -> None:
    """An image whose shape or dtype differs from the feature is not converted."""
    with pytest.raises(FormatError, match="expected an image"):
        decode(data, shape, np.dtype(dtype))


def test_deep_colour_needs_opencv(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow would drop eight of the sixteen bits, so an error names the library to install."""
    monkeypatch.setitem(sys.modules, "cv2", None)
    with pytest.raises(FormatError, match="opencv"):
        decode(DEEP_COLOUR, (6, 5, 3), np.dtype(np.uint16))


def test_without_a_decoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says what to install."""
    monkeypatch.setitem(sys.modules, "cv2", None)
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match="pip install opencv-python-headless, or pillow"):
        decode(FILES[3], (6, 5, 3), UINT8)
