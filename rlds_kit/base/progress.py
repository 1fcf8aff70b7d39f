"""Progress of long operations: the callback, a counter of bytes over several files, and a bar for the terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""A callback that gets the bytes done so far and the total bytes."""


class Meter:
    """Sums the bytes of consecutive files for a `Progress` callback."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._before = progress, total, 0

    def at(self, position: int) -> None:
        """Reports the bytes done of the current file."""
        if self._progress is not None:
            self._progress(min(self._before + position, self._total), self._total)

    def next_file(self, size: int) -> None:
        """Reports that a file of this size is done."""
        self._before += size
        self.at(0)


@contextlib.contextmanager
def progress_bar(label: str, *, hidden: bool) -> Iterator[Progress | None]:
    """Shows a progress bar on standard error, if that is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.DownloadColumn())
    with progress.Progress(
        *columns, progress.TimeRemainingColumn(), console=Console(stderr=True), transient=True
    ) as bar:
        task = bar.add_task(label, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
