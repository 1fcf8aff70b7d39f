"""Limits on the memory of foreign files, which are checked before anything is decoded."""

import math
from typing import Final

from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError

LARGE: Final = 1 << 30
"""Bytes that any file may have, however small it is: constant columns take next to nothing."""
MOST_COMPRESSED: Final = 250
"""Maximum ratio of decoded to stored bytes for data larger than `LARGE`. Deflate compresses zeros to about 1/1030;
recordings are not zeros."""


def require_plausible(decoded: int, stored: int, place: str) -> None:
    """Raises an error for data whose claimed decoded size is impossible for their file.

    Args:
      decoded: bytes in memory, according to their header.
      stored: bytes in the file.
      place: of the data, for the error.

    Raises:
      FormatError: the claimed size is impossible.

    >>> require_plausible(1 << 40, 1000, "a.hdf5/rewards")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    rlds_kit.base.errors.FormatError: a.hdf5/rewards: expected data, got the claim that 1000 bytes are 1099511627776 ...
    """
    if not 0 <= decoded <= max(LARGE, MOST_COMPRESSED * stored):
        raise FormatError(
            f"{place}: expected data, got the claim that {stored} bytes are {decoded} when they are decompressed"
        )


def bytes_of_step(spec: specs.Spec) -> int:
    """The bytes of the arrays of known shape in a spec.

    >>> bytes_of_step(specs.Dict({"observation": specs.Array((210, 160, 3), "uint8"), "task": specs.Text()}))
    100800
    """
    match spec:
        case specs.Dict(fields=fields):
            return sum(map(bytes_of_step, fields.values()))
        case specs.Tuple(items=items):
            return sum(map(bytes_of_step, items))
        case specs.Array(shape=shape, dtype=dtype) if None not in shape:
            return math.prod(length or 0 for length in shape) * dtype.itemsize
    return 0
