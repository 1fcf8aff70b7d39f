"""What counts as bytes: the type that Python itself names only from 3.12 on."""

from typing import Protocol


class Buffer(Protocol):
    """Any object that lends its memory: bytes, bytearray, memoryview, a NumPy array."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """Lend the memory."""
