"""Reads the size of an image from its header, before anything is allocated for it.

PNG: the chunk IHDR, https://www.w3.org/TR/png-3/#11IHDR. JPEG: the frame header, ITU-T T.81, section B.2.2.
"""

from typing import Final

from rlds_kit.base.errors import FormatError

MOST_PIXELS: Final = 1 << 28
"""Maximum pixels of an image; larger images are refused."""
_PNG: Final = b"\x89PNG\r\n\x1a\n"
_JPEG: Final = b"\xff\xd8"
_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""Markers of JPEG that no length follows."""


def announced_size(data: bytes) -> tuple[int, int] | None:
    """Height and width of a PNG or JPEG file; None where its header is not found.

    >>> announced_size(_PNG + bytes(4) + b"IHDR" + (7).to_bytes(4, "big") + (5).to_bytes(4, "big"))
    (5, 7)
    """
    if data.startswith(_PNG):
        if data[12:16] != b"IHDR" or len(data) < 24:
            return None
        return int.from_bytes(data[20:24], "big"), int.from_bytes(data[16:20], "big")
    return _of_jpeg(data) if data.startswith(_JPEG) else None


def require_size(data: bytes, height: int | None, width: int | None) -> None:
    """Checks that the size in the header of an image is not larger than expected, or than plausible.

    Args:
      data: the file.
      height: the expected one; None: any.
      width: likewise.

    Raises:
      FormatError: it is larger.
    """
    found = announced_size(data)
    if found is None:
        return
    if found[0] * found[1] > MOST_PIXELS:
        raise FormatError(f"expected an image of at most {MOST_PIXELS} pixels, got one that announces {found}")
    if height not in (None, found[0]) or width not in (None, found[1]):
        raise FormatError(f"expected an image of height and width {(height, width)}, got one of {found}")


def _of_jpeg(data: bytes) -> tuple[int, int] | None:
    position = 2
    while position + 9 <= len(data) and data[position] == 0xFF:
        marker = data[position + 1]
        if marker in _FRAMES:
            height, width = data[position + 5 : position + 7], data[position + 7 : position + 9]
            return int.from_bytes(height, "big"), int.from_bytes(width, "big")
        if marker == 0xFF:  # fill
            position += 1
        elif marker in _ALONE:
            position += 2
        else:
            position += 2 + int.from_bytes(data[position + 2 : position + 4], "big")
    return None
