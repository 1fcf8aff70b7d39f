"""What all commands share in how they talk: JSON, tables, and progress that gets in nobody's way."""

import contextlib
import dataclasses
import json
import math
import os
import sys
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeVar

import click

from rlds_kit.upkeep.report import Finding, Progress

Decorated = TypeVar("Decorated", bound=Callable[..., Any])

_UNITS: Final = ("B", "kB", "MB", "GB", "TB", "PB")
_UNIT: Final = 1000


def json_option(command: Decorated) -> Decorated:
    """Adds `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(command)


def print_json(content: object) -> None:
    """Prints JSON; what JSON cannot say is shown as Python would print it."""
    click.echo(json.dumps(plain(content), indent=2, ensure_ascii=False))


def plain(content: Any) -> Any:  # JSON
    """`content` as JSON has it.

    >>> plain({"a": (1, float("nan")), 2: b"x"})
    {'a': [1, 'nan'], '2': "b'x'"}
    """
    if dataclasses.is_dataclass(content) and not isinstance(content, type):
        return {each.name: plain(getattr(content, each.name)) for each in dataclasses.fields(content)}
    if isinstance(content, Mapping):
        return {str(key): plain(item) for key, item in content.items()}
    if isinstance(content, list | tuple):
        return [plain(item) for item in content]
    if content is None or isinstance(content, bool | int):
        return content
    if isinstance(content, float) and math.isfinite(content):
        return float(content)
    return str(content) if isinstance(content, str | float | os.PathLike | uuid.UUID) else repr(content)


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


def show(*parts: Any) -> None:  # whatever rich renders
    """Prints tables, trees and lines; as wide as they need to be where no terminal says otherwise."""
    from rich.console import Console

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, highlight=False, soft_wrap=False)
    for part in parts:
        console.print(part, markup=False)


def table(*headings: str, rows: Sequence[tuple[str, ...]]) -> Any:  # a rich table
    """A plain table; headings that begin with ">" stand over numbers."""
    from rich import box
    from rich.table import Table
    from rich.text import Text

    made = Table(box=box.SIMPLE_HEAD, pad_edge=False)
    for heading in headings:
        number = heading.startswith(">")
        made.add_column(heading.removeprefix(">"), justify="right" if number else "left", overflow="fold")
    for row in rows:
        made.add_row(*(Text(cell) for cell in row))
    return made


def findings_table(findings: tuple[Finding, ...]) -> Any:  # a rich table
    """Findings, one a row."""
    return table("rule", "where", "what", rows=[(each.rule, each.place, each.message) for each in findings])


def size_text(size: float) -> str:
    """A number of bytes for people.

    >>> size_text(999), size_text(1_234_567)
    ('999 B', '1.2 MB')
    """
    unit = 0
    while size >= _UNIT and unit < len(_UNITS) - 1:
        size, unit = size / _UNIT, unit + 1
    return f"{size:.0f} {_UNITS[unit]}" if unit == 0 else f"{size:.1f} {_UNITS[unit]}"


def count_text(count: int, noun: str) -> str:
    """A number of things.

    >>> count_text(1, "episode"), count_text(12000, "step")
    ('1 episode', '12,000 steps')
    """
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"
