"""Encodes what an environment shows, for a person to see. What is recorded does not come from here."""

import io
from dataclasses import dataclass
from enum import Enum
from typing import Final

import numpy as np

from rlds_kit.feed.extras import needs
from rlds_kit.studio.frames.header import Codec

with needs("studio"):
    from PIL import Image

Picture = np.ndarray | str | None
"""`[height, width, 3]` or `[height, width]` uint8; text; or nothing to see."""


class Quality(Enum):
    """How much a person may see of what JPEG loses. EXACT loses nothing."""

    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    EXACT = "exact"


_JPEG: Final = {Quality.LOW: 40, Quality.MEDIUM: 75, Quality.HIGH: 92}


@dataclass(frozen=True, slots=True)
class Encoded:
    """A picture.

    Attributes:
      codec: how it is encoded.
      data: its bytes.
    """

    codec: Codec
    data: bytes


def encode(picture: Picture, quality: Quality) -> Encoded:
    """Encodes a picture.

    Args:
      picture: what to show.
      quality: JPEG for all but EXACT, which is WebP without loss.

    Raises:
      ValueError: it is no picture.
    """
    if picture is None:
        return Encoded(Codec.NOTHING, b"")
    if isinstance(picture, str):
        return Encoded(Codec.TEXT, picture.encode())
    image = Image.fromarray(_checked(picture))
    file = io.BytesIO()
    if quality is Quality.EXACT:
        image.save(file, "WEBP", lossless=True, quality=0, method=0)
        return Encoded(Codec.WEBP, file.getvalue())
    image.save(file, "JPEG", quality=_JPEG[quality], subsampling=2 if quality is Quality.LOW else 0)
    return Encoded(Codec.JPEG, file.getvalue())


def encode_exactly(picture: np.ndarray) -> bytes:
    """A PNG of an image of a recording.

    Raises:
      ValueError: it is no picture.
    """
    file = io.BytesIO()
    Image.fromarray(_checked(picture)).save(file, "PNG", compress_level=1)
    return file.getvalue()


def _checked(picture: np.ndarray) -> np.ndarray:
    is_gray = picture.ndim == 3 and picture.shape[2] == 1
    picture = picture[:, :, 0] if is_gray else picture
    is_color = picture.ndim == 3 and picture.shape[2] in {3, 4}
    if picture.dtype != np.uint8 or not (is_color or picture.ndim == 2) or not picture.size:
        raise ValueError(
            f"expected a picture of uint8 [height, width] or [height, width, 3], got {picture.dtype} {picture.shape}"
        )
    return np.ascontiguousarray(picture[:, :, :3] if is_color else picture)
