"""PNG of flat pictures, such as games draw: numbers of a palette where C finds them, and one of zlib's fast levels.

A general encoder tries filters for every row (PNG 3rd edition, section 9), which costs more than it brings here. A
palette makes a sixth of the bytes for zlib to go through.
"""

import struct
import zlib
from typing import Final

import numpy as np

from rlds_kit.studio.frames.native import native

_SIGNATURE: Final = b"\x89PNG\r\n\x1a\n"
_COLOR: Final = {2: 0, 3: 2}
"""PNG's colour types of gray and RGB, by the number of dimensions."""
_PALETTE: Final = 3
"""PNG's colour type of numbers that stand for colours."""

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
    numbered = None if native is None or picture.ndim == 2 else native.number_colors(picture.data, height, width)
    if numbered is not None:
        bits, palette, numbers = numbered
        return _png(height, width, bits, _PALETTE, _chunk(b"PLTE", palette), numbers)
    rows = np.zeros((height, picture[0].size + 1), np.uint8)  # each begins with its filter: 0 is none
    rows[:, 1:] = picture.reshape(height, -1)
    return _png(height, width, 8, _COLOR[picture.ndim], b"", rows.data)


def _png(height: int, width: int, bits: int, color: int, palette: bytes, rows: bytes | memoryview) -> bytes:
    head = _chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, bits, color, 0, 0, 0))
    packer = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS, _MEMORY)
    body = packer.compress(rows) + packer.flush()
    return b"".join((_SIGNATURE, head, palette, _chunk(b"IDAT", body), _chunk(b"IEND", b"")))


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(data, zlib.crc32(name)))
