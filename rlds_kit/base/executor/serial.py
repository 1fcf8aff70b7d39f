"""Runs the tasks one after the other, in this process."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from rlds_kit.base.executor.run import Notify, P, R, Run, notifying


@contextlib.contextmanager
def serially() -> Iterator[Run]:
    """An executor for debugging, for small datasets, and for memory that is enough for one worker only.

    >>> with serially() as run:
    ...     list(run(abs, [-1, 2]))
    [1, 2]
    """
    yield _run


def _run(
    task: Callable[[P], R],
    parts: Sequence[P],
    *,
    shared: Path | None = None,  # noqa: ARG001  reports do not leave this process
    notify: Notify | None = None,
) -> Iterator[R]:
    return (notifying(notify, task, part) for part in parts)
