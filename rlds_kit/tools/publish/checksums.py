"""SHA-256 of files, and `checksums.txt` as `sha256sum` writes and checks it."""

import hashlib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import BinaryIO, Final

from rlds_kit.tools.publish.destination import Item

BUFFER: Final = 1 << 20

Advance = Callable[[int], None]
"""A callback that gets the position in a file."""


def sha256_of(file: BinaryIO, advance: Advance | None = None) -> str:
    """The SHA-256 of the rest of a file, in hexadecimal.

    >>> import io
    >>> sha256_of(io.BytesIO(b""))[:16]
    'e3b0c44298fc1c14'
    """
    digest, position = hashlib.sha256(), 0
    while block := file.read(BUFFER):
        digest.update(block)
        position += len(block)
        if advance is not None:
            advance(position)
    return digest.hexdigest()


def item_of(path: str, source: Path, advance: Advance | None = None) -> Item:
    """A file with its size and digest.

    Raises:
      OSError: it cannot be read.
    """
    with source.open("rb") as file:
        digest = sha256_of(file, advance)
        return Item(path, source, file.tell(), digest)


def checksums(items: Iterable[Item]) -> str:
    r"""The lines that `sha256sum -c` takes, sorted by path.

    >>> checksums([Item("b", Path("b"), 0, "cd"), Item("a", Path("a"), 0, "ab")])
    'ab  a\ncd  b\n'
    """
    return "".join(f"{item.sha256}  {item.path}\n" for item in sorted(items, key=lambda item: item.path))
