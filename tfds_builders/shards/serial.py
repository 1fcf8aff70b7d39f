"""Runs the tasks one after the other, in this process."""

import contextlib
from collections.abc import Iterator, Sequence

from rlds_kit.tfds_builders.shards.executor import Run, Task
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec


@contextlib.contextmanager
def serially() -> Iterator[Run]:
    """An executor for debugging, for small datasets, and where memory is for one worker only.

    >>> with serially() as run:  # doctest: +SKIP
    ...     infos = list(run(work, specs))
    """
    yield _run


def _run(task: Task, specs: Sequence[ShardSpec]) -> Iterator[ShardInfo]:
    return map(task, specs)
