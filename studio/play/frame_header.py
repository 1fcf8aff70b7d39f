"""What stands before each frame on the wire, 36 bytes, little-endian.

| bytes | field |
|---|---|
| 4 | "RKF1" |
| 1 | codec: 0 PNG, 1 WebP without loss, 2 JPEG, 3 text in UTF-8, 4 nothing to see |
| 1 | flags: 1 terminated, 2 truncated, 4 first of an episode, 8 ahead: what a possible next step would show |
| 2 | of a picture ahead its action, unsigned; else zero |
| 4 | number of the frame in its connection, unsigned; pictures ahead have numbers of their own |
| 4 | step of the episode, unsigned |
| 8 | the server's clock, in nanoseconds, signed |
| 8 | sum of rewards of the seat, IEEE double |
| 4 | bytes that follow, unsigned |
"""

import struct
from dataclasses import dataclass
from enum import IntFlag
from typing import Final

from rlds_kit.trials.frames.picture import Codec

MAGIC: Final = b"RKF1"
_LAYOUT: Final = struct.Struct("<4sBBHIIqdI")
SIZE: Final = _LAYOUT.size


class Flags(IntFlag):
    """What a frame means."""

    TERMINATED = 1
    TRUNCATED = 2
    FIRST = 4
    AHEAD = 8


NO_FLAGS: Final = Flags(0)


@dataclass(frozen=True, slots=True)
class Header:
    """Of a frame.

    Attributes:
      codec: of the payload.
      flags: of the step.
      sequence: number of the frame in its connection.
      step: of the episode.
      time_ns: of the server, when the frame was sent.
      total: sum of rewards.
      size: of the payload, in bytes.
      action: of a picture ahead.
    """

    codec: Codec
    flags: Flags
    sequence: int
    step: int
    time_ns: int
    total: float
    size: int
    action: int = 0


def pack(header: Header) -> bytes:
    """The bytes of a header.

    >>> len(pack(Header(Codec.JPEG, Flags(0), 1, 2, 3, 4.0, 5)))
    36
    """
    return _LAYOUT.pack(
        MAGIC,
        header.codec,
        header.flags,
        header.action,
        header.sequence,
        header.step,
        header.time_ns,
        header.total,
        header.size,
    )


def unpack(data: bytes) -> Header:
    """The header of a frame.

    Raises:
      ValueError: it is none, or the payload is not of the size that it says.
    """
    if len(data) < SIZE:
        raise ValueError(f"expected a frame of at least {SIZE} bytes, got {len(data)}")
    magic, codec, flags, action, sequence, step, time_ns, total, size = _LAYOUT.unpack_from(data)
    if magic != MAGIC or (action and not flags & Flags.AHEAD):
        raise ValueError(f"expected a frame that begins with {MAGIC!r}, got {data[:8]!r}")
    if len(data) != SIZE + size:
        raise ValueError(f"expected {size} bytes after the header, got {len(data) - SIZE}")
    return Header(Codec(codec), Flags(flags), sequence, step, time_ns, total, size, action)
