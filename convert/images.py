"""Decodes PNG and JPEG and encodes PNG, with OpenCV or, where that is not installed, with Pillow."""

import io
from typing import Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.base.extras import MissingExtraError
from rlds_kit.convert.image_size import require_size

_JPEG: Final = b"\xff\xd8"


def decode(data: bytes, shape: tuple[int | None, ...], dtype: np.dtype[Any]) -> np.ndarray:
    """An image as an array, as TFDS's `Image` feature decodes it.

    Args:
      data: the file.
      shape: (height, width, channels), None where it is not known in advance.
      dtype: uint8, uint16, or float32, which TFDS stores as the four bytes of each value.

    Raises:
      FormatError: it is no image, or has another shape or dtype.
      MissingExtraError: neither OpenCV nor Pillow is installed.
    """
    require_size(data, *shape[:2])
    is_float = dtype == np.float32
    channels = 4 if is_float else shape[-1]
    pixels = _with_channels(_pixels(data), channels)
    if is_float and pixels.dtype == np.uint8 and pixels.shape[2] == channels:
        pixels = np.ascontiguousarray(pixels).view("<f4").astype(np.float32, copy=False)
    fits = len(pixels.shape) == len(shape) and all(
        expected in (None, length) for length, expected in zip(pixels.shape, shape, strict=True)
    )
    if not fits or pixels.dtype != dtype:
        hint = "; colours of 16 bits need opencv-python-headless" if dtype == np.uint16 else ""
        raise FormatError(f"expected an image {dtype} {shape}, got {pixels.dtype} {pixels.shape}{hint}")
    return np.ascontiguousarray(pixels)


def encode_png(pixels: np.ndarray) -> bytes:
    """A PNG file, which is lossless.

    Args:
      pixels: `[height, width, channels]`, uint8, of 1 (grey), 3 (colours) or 4 channels (colours and alpha).

    Raises:
      MissingExtraError: neither OpenCV nor Pillow is installed.
    """
    try:
        import cv2
    except ModuleNotFoundError:
        return _png_of_pillow(pixels)
    order = {1: [0], 3: [2, 1, 0], 4: [2, 1, 0, 3]}[pixels.shape[2]]
    return bytes(cv2.imencode(".png", np.ascontiguousarray(pixels[..., order]))[1].tobytes())


def _png_of_pillow(pixels: np.ndarray) -> bytes:
    try:
        from PIL import Image
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "images are stored as PNG, and nothing is installed that encodes them: pip install "
            "opencv-python-headless, or pillow"
        ) from error
    file = io.BytesIO()
    Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels).save(file, "PNG")
    return file.getvalue()


def is_jpeg(data: bytes) -> bool:
    """Whether an image is stored as JPEG, which is lossy.

    >>> is_jpeg(bytes.fromhex("ffd8ffe0")), is_jpeg(bytes.fromhex("89504e47"))
    (True, False)
    """
    return data.startswith(_JPEG)


def _pixels(data: bytes) -> np.ndarray:
    """`[height, width, channels]`, in the order red, green, blue, alpha."""
    try:
        import cv2
    except ModuleNotFoundError:
        return _pixels_of_pillow(data)
    try:
        pixels: np.ndarray | None = cv2.imdecode(np.frombuffer(data, np.uint8), cv2.IMREAD_UNCHANGED) if data else None
    except cv2.error as error:  # its header has a size that OpenCV does not accept
        raise FormatError(f"expected a PNG or JPEG image: {error}") from error
    if pixels is None:
        raise FormatError(f"expected a PNG or JPEG image, got {len(data)} bytes that begin with {data[:8]!r}")
    if pixels.ndim == 2:
        return pixels[..., np.newaxis]
    blue, red = 0, 2
    order = [red, 1, blue, *range(3, pixels.shape[2])]
    return pixels[..., order]


def _pixels_of_pillow(data: bytes) -> np.ndarray:
    try:
        from PIL import Image, UnidentifiedImageError
    except ModuleNotFoundError as error:
        raise MissingExtraError(
            "images are stored as PNG or JPEG, and nothing is installed that decodes them: pip install "
            "opencv-python-headless, or pillow"
        ) from error
    try:
        with Image.open(io.BytesIO(data)) as image:
            pixels = np.asarray(image.convert("RGB") if image.mode in ("P", "1", "CMYK", "YCbCr") else image)
    except (UnidentifiedImageError, OSError, SyntaxError) as error:
        raise FormatError(f"expected a PNG or JPEG image: {error}") from error
    if pixels.dtype == np.int32:  # "I": sixteen bits of grey, in older versions of Pillow
        pixels = pixels.astype(np.uint16)
    return pixels[..., np.newaxis] if pixels.ndim == 2 else pixels


def _with_channels(pixels: np.ndarray, channels: int | None) -> np.ndarray:
    """Converts an image to this number of channels, as TensorFlow does: grey becomes colour, alpha is dropped."""
    own = pixels.shape[2]
    match own, channels:
        case 1, 3:
            return np.repeat(pixels, 3, axis=2)
        case 4, 3:
            return pixels[..., :3]
        case 4, 2 if np.array_equal(pixels[..., 0], pixels[..., 1]):  # OpenCV has no grey with alpha
            return pixels[..., [0, 3]]
        case 2, 1:
            return pixels[..., :1]
    return pixels
