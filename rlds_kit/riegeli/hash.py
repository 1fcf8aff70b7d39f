"""The hash of every header and every chunk: HighwayHash, 64 bits, with Riegeli's fixed key.

"Conventions" of https://github.com/google/riegeli/blob/master/doc/riegeli_records_file_format.md
"""

from __future__ import annotations

from collections.abc import Callable

from rlds_kit.riegeli import _pure_hash
from rlds_kit.riegeli._implementation import native
from rlds_kit.riegeli.buffer import Buffer

_hash64: Callable[[Buffer], int] = native.highway_hash64 if native else _pure_hash.highway_hash64


def highway_hash64(data: Buffer) -> int:
    """Return the 64-bit HighwayHash of `data` under the key of Riegeli/records.

    About 1 GB/s in C (5 GB/s with AVX2), 2 MB/s in Python.

    >>> hex(highway_hash64(b""))
    '0x72c3b1e9c0139fe1'
    """
    return _hash64(data)
