"""Encodes what an environment shows, for a person to see. What is recorded does not come from here."""

import functools
import importlib
import io
from collections.abc import Callable
from enum import Enum, IntEnum
from types import ModuleType
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.base.extras import needs
from rlds_kit.trials.frames.png import encode_flat, encode_palette, encode_plain

Picture = np.ndarray | str | None
"""`[height, width, 3]` or `[height, width]` uint8; text; or nothing to see."""


class Quality(Enum):
    """How much a person may see of what JPEG loses. EXACT loses nothing."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    EXACT = "exact"


_UINT8: Final = np.dtype(np.uint8)
_JPEG: Final = {Quality.LOW: 40, Quality.MEDIUM: 75, Quality.HIGH: 92}
_FINE: Final = {Quality.HIGH}
"""Which do not halve the resolution of colour."""
_FLAT_PIXELS: Final = 250_000
"""A flat picture of up to so many is encoded without loss about as fast as by JPEG."""
_FLAT_COLORS: Final = 64
_FLAT_SHARE: Final = 8
"""A flat picture takes less than this part of its bytes."""
_LOOK_EVERY: Final = 30
"""Pictures are of the same kind for so long, unless their size shows otherwise."""
_SAMPLE: Final = 7, 3
"""One row and one column of so many are checked."""


class Codec(IntEnum):
    """How a picture is encoded."""

    PNG = 0
    WEBP = 1
    JPEG = 2
    TEXT = 3
    NOTHING = 4


class Encoded(NamedTuple):
    """A picture.

    Attributes:
      codec: how it is encoded.
      data: its bytes.
    """

    codec: Codec
    data: bytes


class Encoder:
    """Encodes what an environment shows: flat pictures, as most games draw them, without loss, others as JPEG.

    Whether pictures are flat is checked now and then: that takes as long as encoding one.
    """

    def __init__(self) -> None:
        self._is_flat, self._left = False, 0
        self._shape: tuple[int, ...] = ()
        self._most = 0

    def encode(self, picture: Picture, quality: Quality) -> Encoded:
        """Encodes a picture.

        Args:
          picture: what to show.
          quality: of JPEG; EXACT: WebP without loss in its place.

        Raises:
          ValueError: it is no picture.
        """
        is_tried = bool(self._is_flat and self._left)
        if is_tried:  # as games nearly always are, and then only C reads the picture
            data = encode_palette(picture, self._shape[0], self._shape[1])
            if data is not None:
                return self._flat(data)
        if picture is None:
            return Encoded(Codec.NOTHING, b"")
        if isinstance(picture, str):
            return Encoded(Codec.TEXT, picture.encode())
        checked = self._looked_at(picture)
        if self._is_flat:
            has_no_palette = is_tried and checked is picture
            return self._flat(encode_plain(checked) if has_no_palette else encode_flat(checked))
        self._left -= 1
        return _encode_fine(checked, quality)

    def _flat(self, data: bytes) -> Encoded:
        """The PNG of a picture that was flat. The next one may be so no more if it takes too many bytes."""
        self._left = 0 if len(data) > self._most else self._left - 1
        return Encoded(Codec.PNG, data)

    def _looked_at(self, picture: np.ndarray) -> np.ndarray:
        """The picture as encoders take it. Remembers of what kind it is."""
        checked = _checked(picture)
        if not self._left or checked.shape != self._shape:
            self._is_flat, self._shape, self._left = _is_flat(checked), checked.shape, _LOOK_EVERY
            self._most = checked.size // _FLAT_SHARE
        return checked


def encode(picture: Picture, quality: Quality) -> Encoded:
    """Encodes a single picture; see `Encoder`."""
    return Encoder().encode(picture, quality)


def _encode_fine(checked: np.ndarray, quality: Quality) -> Encoded:
    if quality is Quality.EXACT:
        file = io.BytesIO()
        _image().fromarray(checked).save(file, "WEBP", lossless=True, quality=0, method=0)
        return Encoded(Codec.WEBP, file.getvalue())
    return Encoded(Codec.JPEG, _encoder()(checked, _JPEG[quality], quality in _FINE))


def _is_flat(picture: np.ndarray) -> bool:
    """Whether it is of few colours, judged by a sample, and not too large."""
    if picture.shape[0] * picture.shape[1] > _FLAT_PIXELS:
        return False
    sample = np.ascontiguousarray(picture[:: _SAMPLE[0], :: _SAMPLE[1]])
    return _image().fromarray(sample).getcolors(_FLAT_COLORS) is not None


Jpeg = Callable[[np.ndarray, int, bool], bytes]


@functools.cache
def _encoder() -> Jpeg:
    """The faster encoder of JPEG that is installed."""
    try:
        return _simplejpeg()
    except ImportError:
        return jpeg_by_pillow


def _simplejpeg() -> Jpeg:
    encode_jpeg = importlib.import_module("simplejpeg").encode_jpeg  # optional: it takes two thirds of Pillow's time

    def by_simplejpeg(picture: np.ndarray, quality: int, is_fine: bool) -> bytes:
        pixels, space = (picture, "RGB") if picture.ndim == 3 else (picture[:, :, None], "GRAY")
        sampling = "Gray" if picture.ndim == 2 else "444" if is_fine else "420"
        data: bytes = encode_jpeg(pixels, quality=quality, colorspace=space, colorsubsampling=sampling)
        return data

    return by_simplejpeg


def jpeg_by_pillow(picture: np.ndarray, quality: int, is_fine: bool) -> bytes:
    """A JPEG, as it is made where simplejpeg is not installed."""
    file = io.BytesIO()
    _image().fromarray(picture).save(file, "JPEG", quality=quality, subsampling=0 if is_fine else 2)
    return file.getvalue()


def encode_exactly(picture: np.ndarray) -> bytes:
    """A PNG of an image of a recording.

    Raises:
      ValueError: it is no picture.
    """
    file = io.BytesIO()
    _image().fromarray(_checked(picture)).save(file, "PNG", compress_level=1)
    return file.getvalue()


@functools.cache
def _image() -> ModuleType:
    """Pillow, which only trials with pictures need."""
    with needs("studio"):
        from PIL import Image
    return Image


def _checked(picture: np.ndarray) -> np.ndarray:
    is_gray = picture.ndim == 3 and picture.shape[2] == 1
    picture = picture[:, :, 0] if is_gray else picture
    is_color = picture.ndim == 3 and picture.shape[2] in {3, 4}
    if picture.dtype != _UINT8 or not (is_color or picture.ndim == 2) or not picture.size:
        raise ValueError(
            f"expected a picture of uint8 [height, width] or [height, width, 3], got {picture.dtype} {picture.shape}"
        )
    return np.ascontiguousarray(picture[:, :, :3] if picture.ndim == 3 and picture.shape[2] > 3 else picture)
