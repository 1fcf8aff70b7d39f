"""What encodes and decodes blocks of a column, and how it is measured."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np

LEAST: Final = 0.02
"""Seconds of CPU time that a measurement takes at least."""


@dataclass(frozen=True)
class Codec:
    """A way to store blocks of rows.

    Attributes:
      name: for the table.
      encode: returns the bytes of a block, `[rows, numbers]`.
      decode: writes the rows of these bytes into such an array.
    """

    name: str
    encode: Callable[[np.ndarray], Any]
    decode: Callable[[Any, np.ndarray], object]


def blocks_of(column: np.ndarray, rows: int) -> list[np.ndarray]:
    """A column in blocks, `[rows, numbers]`."""
    flat = np.ascontiguousarray(column.reshape(len(column), -1))
    return [flat[at : at + rows] for at in range(0, len(flat), rows)]


def size(codec: Codec, blocks: list[np.ndarray]) -> float:
    """Bytes of a value; what would be larger than its block is counted as large as it."""
    total = sum(min(len(codec.encode(block)), block.nbytes) for block in blocks)
    return total / sum(block.size for block in blocks)


def measure(codec: Codec, blocks: list[np.ndarray]) -> dict[str, float]:
    """Bytes of a value, and MB of numbers that are encoded and decoded in a second of CPU time.

    Raises:
      RuntimeError: what was decoded is not what was encoded.
    """
    stored = [codec.encode(block) for block in blocks]
    decoded = [np.empty_like(block) for block in blocks]

    def encode() -> None:
        for block in blocks:
            codec.encode(block)

    def decode() -> None:
        for each, out in zip(stored, decoded, strict=True):
            codec.decode(each, out)

    megabytes = sum(block.nbytes for block in blocks) / 1e6
    speeds = {"encode": megabytes / _seconds(encode), "decode": megabytes / _seconds(decode)}
    if any(one.tobytes() != other.tobytes() for one, other in zip(blocks, decoded, strict=True)):
        raise RuntimeError(f"{codec.name}: the numbers did not come back")
    return speeds | {"bytes": size(codec, blocks)}


def _seconds(work: Callable[[], None]) -> float:
    count, begin = 0, time.process_time()
    while (spent := time.process_time() - begin) < LEAST or not count:
        work()
        count += 1
    return spent / count
