"""The hash of a file's content."""

from pathlib import Path
from typing import Final

import xxhash

_READ_BYTES: Final = 8 << 20


def file_digest(path: Path) -> bytes:
    """XXH3-128 of a file, 16 bytes."""
    found = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while data := file.read(_READ_BYTES):
            found.update(data)
    return found.digest()
