"""The progress bar of a build."""

import contextlib
import sys
from collections.abc import Iterator

from rlds_kit.tfds_builders.shards.convert import Progress


@contextlib.contextmanager
def shard_bar(*, hidden: bool) -> Iterator[Progress | None]:
    """Shows a bar of shards on standard error, if that is a terminal."""
    if hidden or not sys.stderr.isatty():
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (progress.TextColumn("{task.description}"), progress.BarColumn(), progress.MofNCompleteColumn())
    with progress.Progress(*columns, progress.TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task("planning", total=None)
        yield lambda doing, done, total: bar.update(task, description=doing, completed=done, total=total)
