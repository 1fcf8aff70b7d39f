"""The options of batches, and how memory is divided between them."""

import os
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from rlds_kit.base.arguments import integer, positive
from rlds_kit.loader.order import BlockOrder, GlobalOrder, InOrder, Order

Shuffle: TypeAlias = Literal["global", "blocks"] | None

MEMORY: Final = 128 << 20
"""Default memory of a loader, in bytes of decoded steps."""
CACHE_SHARE: Final = 4
"""Fields that need less than this fraction of the memory for the whole dataset are cached in addition."""
LARGEST_PIECE: Final = 1 << 16
"""Maximum steps of a piece; more would only delay the first batch."""
RUN_STEPS: Final = (64, 512)
"""Fewest and most neighbouring steps that `shuffle="blocks"` keeps together on disk: short ones mix better, long ones
decode faster."""


@dataclass(frozen=True, slots=True)
class Options:
    """The arguments of `Samples.batches`."""

    batch_size: int
    shuffle: Shuffle = None
    seed: int = 0
    drop_remainder: bool = False
    shard: tuple[int, int] = (0, 1)
    threads: int | None = None
    memory: int | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "batch_size", positive("batch_size", self.batch_size))
        object.__setattr__(self, "seed", integer("seed", self.seed))
        if self.shuffle not in ("global", "blocks", None):
            raise ValueError(f'expected shuffle to be "global", "blocks" or None, got {self.shuffle!r}')
        match self.shard:
            case (index, count) if 0 <= integer("shard[0]", index) < integer("shard[1]", count):
                object.__setattr__(self, "shard", (int(index), int(count)))
            case _:
                raise ValueError(f"expected shard (index, count) with 0 <= index < count, got {self.shard!r}")
        if self.threads is not None:
            object.__setattr__(self, "threads", positive("threads", self.threads))
        if self.memory is not None:
            object.__setattr__(self, "memory", positive("memory", self.memory))

    @property
    def workers(self) -> int:
        """Number of threads that decode."""
        return self.threads or min(4, os.cpu_count() or 1)

    @property
    def step_bytes(self) -> int:
        """Maximum bytes of decoded steps in memory."""
        return self.memory or MEMORY

    @property
    def cache_bytes(self) -> int:
        """Bytes for the cache of small fields, in addition to these."""
        return self.step_bytes // CACHE_SHARE

    def span(self, size: int) -> tuple[int, int]:
        """The positions `[begin, end)` of an epoch that belong to this shard."""
        index, count = self.shard
        begin = size * index // count
        if self.drop_remainder:  # the same number in every shard, so that synchronized workers do not hang
            return begin, begin + size // count // self.batch_size * self.batch_size
        return begin, size * (index + 1) // count


@dataclass(frozen=True, slots=True)
class Weights:
    """The sizes of samples.

    Attributes:
      samples: number of samples.
      row_bytes: of one step.
      rows_per_sample: number of steps of a sample.
      rows_between: steps from one sample to the next.
    """

    samples: int
    row_bytes: int
    rows_per_sample: int
    rows_between: int

    @property
    def sample_bytes(self) -> int:
        """Bytes of a sample."""
        return self.rows_per_sample * self.row_bytes

    def rows(self, memory: int) -> int:
        """Steps of a piece: half of the memory, because one piece is consumed while the next is decoded."""
        return min(LARGEST_PIECE, max(1, memory // 2 // self.row_bytes))


def piece_limit(options: Options, weights: Weights) -> int:
    """The most samples of a piece."""
    rows = weights.rows(options.step_bytes)
    if options.shuffle == "global":
        return max(1, rows // weights.rows_per_sample)
    return max(1, (rows - weights.rows_per_sample) // weights.rows_between)


def order(options: Options, weights: Weights) -> Order:
    """The order of the samples."""
    match options.shuffle:
        case None:
            return InOrder(weights.samples)
        case "global":
            return GlobalOrder(weights.samples, options.seed)
    rows = weights.rows(options.step_bytes)
    steps = min(max(rows // 24, RUN_STEPS[0]), RUN_STEPS[1])
    run = max(1, steps // weights.rows_between)
    mix = max(1, rows // (run * weights.rows_between + weights.rows_per_sample))
    return BlockOrder(weights.samples, options.seed, run, mix)
