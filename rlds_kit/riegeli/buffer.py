"""The type of objects with the buffer protocol, which Python's own library defines only from 3.12 on."""

from typing import Protocol


class Buffer(Protocol):
    """Any object with the buffer protocol: bytes, bytearray, memoryview, a NumPy array."""

    def __buffer__(self, flags: int, /) -> memoryview:
        """Return a view of the memory."""
