"""PNG of flat pictures, such as games draw: numbers of a palette where C finds them, else one of zlib's fast levels.

A general encoder tries filters for every row (PNG 3rd edition, section 9), which costs more than it brings here.
"""

import struct
import zlib
from typing import Final

import numpy as np

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.trials.frames")


_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOR: Final = {2: 0, 3: 2}
"""PNG's colour types of gray and RGB, by the number of dimensions."""
_LEVEL: Final = 3
"""zlib's: flat pictures take as long as with 1, and fewer bytes."""
_MEMORY: Final = 5
"""zlib's level: tables that stay in the processor's cache; for flat pictures larger ones bring nothing."""


def encode_flat(picture: np.ndarray) -> bytes:
    """Encodes a picture without loss.

    Args:
      picture: `[height, width, 3]` or `[height, width]` uint8, contiguous.

    >>> len(encode_flat(np.zeros((210, 160, 3), np.uint8))) < 600
    True
    """
    height, width = picture.shape[:2]
    data = encode_palette(picture, height, width)
    return encode_plain(picture) if data is None else data


def encode_palette(picture: np.ndarray | str | None, height: int, width: int) -> bytes | None:
    """Encodes a picture of that size with up to 256 colours; None if it is another one, or C is not there."""
    data: bytes | None = None if native is None else native.encode_palette(picture, height, width)
    return data


def encode_plain(picture: np.ndarray) -> bytes:
    """Encodes a picture, as `encode_flat` does, without a palette."""
    height, width = picture.shape[:2]
    rows = np.zeros((height, picture[0].size + 1), np.uint8)  # each begins with its filter: 0 is none
    rows[:, 1:] = picture.reshape(height, -1)
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, _COLOR[picture.ndim], 0, 0, 0))
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, _MEMORY)
    body = packer.compress(rows.data) + packer.flush()
    return b"".join((_SIGNATURE, head, _chunk(b"IDAT", body), _chunk(b"IEND", b"")))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
