"""The output of all commands: JSON, tables and lines."""

import dataclasses
import json
import math
import os
import sys
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

from rlds_kit.tools.upkeep.finding import Finding

Decorated = TypeVar("Decorated", bound=Callable[..., Any])


def json_option(command: Decorated) -> Decorated:
    """Adds `--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print one JSON object and nothing else.")(command)


def print_json(content: object) -> None:
    """Prints JSON; values that JSON cannot represent are printed as in Python."""
    click.echo(json.dumps(plain(content), indent=2, ensure_ascii=False))


def plain(content: Any) -> Any:  # JSON
    """Converts `content` to values that JSON can represent.

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


def show(*parts: Any) -> None:  # whatever rich renders
    """Prints tables, trees and lines; limited to the width of a terminal, if there is one."""
    from rich.console import Console

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 160, highlight=False, soft_wrap=False)
    for part in parts:
        console.print(part, markup=False)


def table(*headings: str, rows: Sequence[tuple[str, ...]]) -> Any:  # a rich table
    """A plain table; headings that begin with ">" are for right-aligned numbers."""
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
    """Findings, one per row."""
    return table("rule", "where", "what", rows=[(each.rule, each.place, each.message) for each in findings])
