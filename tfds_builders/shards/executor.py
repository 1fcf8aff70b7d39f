"""How shards are handed to workers."""

from collections.abc import Callable, Iterator, Sequence
from typing import Protocol, TypeAlias

from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec

Task: TypeAlias = Callable[[ShardSpec], ShardInfo]
"""`work` or `check`. A worker that dies may have its task run again: both may be."""


class Run(Protocol):
    """Runs a task for every shard and gives what it returned, in any order, as it comes."""

    def __call__(self, task: Task, specs: Sequence[ShardSpec]) -> Iterator[ShardInfo]:
        """Runs the task.

        Raises:
          BuildError: a task failed, or a worker died; no further tasks are begun.
        """
