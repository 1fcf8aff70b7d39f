"""Flush policies: when rows are written and synced."""

import dataclasses
from typing import Final

from rlds_kit.storage.plausible import BLOCK_ROWS_LIMIT

BLOCK_ROWS: Final = 64
BLOCK_BYTES: Final = 8 << 20
SMALL_BLOCK_BYTES: Final = 256 << 10
"""Minimum bytes of a block: for 64 rows of a hundred bytes, the header would be as large as the rows, and the work for
each block many times that for its rows."""
TIMER_SECONDS: Final = 1.0


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class FlushPolicy:
    """Rules for when rows are cut into blocks and blocks are made durable. The default loses at most a second.

    Attributes:
      block_rows: maximum rows of a block; None: it closes when it has at least 64 rows and 256 KiB, and is split into
        parts of about 384 KiB if it is larger when compressed.
      block_bytes: a block closes at this size before compression.
      interval: seconds after which the writer thread writes and syncs buffered rows; None: never.
      each_step: `append` returns when its row is durable.
      each_episode: `end` returns when the episode is durable.
      each_bytes: sync after this many bytes; None: never.

    >>> FlushPolicy.seconds(0.5).interval
    0.5
    """

    block_rows: int | None = None
    block_bytes: int = BLOCK_BYTES
    interval: float | None = TIMER_SECONDS
    each_step: bool = False
    each_episode: bool = False
    each_bytes: int | None = None

    def __post_init__(self) -> None:
        for name in ("block_rows", "block_bytes", "interval", "each_bytes"):
            value = getattr(self, name)
            if value is not None and value <= 0:
                raise ValueError(f"{name}: expected a number above 0, got {value}")

    @classmethod
    def every_step(cls) -> "FlushPolicy":
        """A policy by which every step is durable before the call that recorded it returns: safest, and slowest."""
        return cls(interval=None, each_step=True)

    @classmethod
    def every_episode(cls) -> "FlushPolicy":
        """A policy by which every episode is durable when it has ended."""
        return cls(interval=None, each_episode=True)

    @classmethod
    def seconds(cls, interval: float) -> "FlushPolicy":
        """A policy by which rows that are older than `interval` seconds are durable."""
        return cls(interval=interval)

    @classmethod
    def bytes(cls, count: int) -> "FlushPolicy":
        """A policy by which all but the last `count` bytes are durable."""
        return cls(interval=None, each_bytes=count)

    @classmethod
    def manual(cls) -> "FlushPolicy":
        """A policy by which only `flush()` and `close()` make data durable."""
        return cls(interval=None)

    def is_full(self, rows: int, nbytes: int) -> bool:
        """Whether a block with this many rows and bytes closes.

        >>> FlushPolicy().is_full(64, 6400), FlushPolicy(block_rows=8).is_full(8, 800)
        (False, True)
        """
        if rows >= BLOCK_ROWS_LIMIT:
            return True
        if self.block_rows is not None:
            return rows >= self.block_rows or nbytes >= self.block_bytes
        return (rows >= BLOCK_ROWS and nbytes >= SMALL_BLOCK_BYTES) or nbytes >= self.block_bytes

    def rows_of_block(self, row_bytes: int) -> int:
        """The number of rows with which a block closes, if each has this many bytes.

        >>> FlushPolicy().rows_of_block(100), FlushPolicy(block_rows=8).rows_of_block(100)
        (656, 8)
        """
        most = max(1, -(-self.block_bytes // max(1, row_bytes)))
        if self.block_rows is not None:
            return min(self.block_rows, most, BLOCK_ROWS_LIMIT)
        return min(max(BLOCK_ROWS, -(-SMALL_BLOCK_BYTES // max(1, row_bytes))), most, BLOCK_ROWS_LIMIT)
