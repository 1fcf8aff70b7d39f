"""How far long work is: what it calls, how bytes add up over files, and the bar in a terminal."""

import contextlib
import sys
from collections.abc import Callable, Iterator
from typing import TypeAlias

Progress: TypeAlias = Callable[[int, int], None]
"""Called now and then with the bytes that are done and the bytes there are."""


class Meter:
    """Adds up the bytes of one file after the other for a `Progress`."""

    def __init__(self, progress: Progress | None, total: int) -> None:
        self._progress, self._total, self._before = progress, total, 0

    def at(self, position: int) -> None:
        """So many bytes of the present file are done."""
        if self._progress is not None:
            self._progress(min(self._before + position, self._total), self._total)

    def next_file(self, size: int) -> None:
        """A file of so many bytes is done."""
        self._before += size
        self.at(0)


@contextlib.contextmanager
def progress_bar(label: str, *, hidden: bool) -> Iterator[Progress | None]:
    """A bar of bytes on standard error while work goes on; none where nobody looks."""
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
