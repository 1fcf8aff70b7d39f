"""The output of the commands that edit datasets."""

import contextlib
from collections.abc import Iterator, Sequence

import click

from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import print_json, show
from rlds_kit.tools.edit.report import Report


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """Shows errors in what the user requested as one line; those of datasets are the program's own."""
    try:
        yield
    except KeyError as error:
        raise click.ClickException(str(error.args[0])) from error
    except ValueError as error:
        raise click.ClickException(str(error)) from error


def print_reports(reports: Sequence[Report], *, as_json: bool) -> None:
    """Prints what was done: one report as it is, several as a list."""
    if as_json:
        print_json(reports[0] if len(reports) == 1 else reports)
        return
    for report in reports:
        show(_text(report))
    for text in dict.fromkeys(_left_out(report) for report in reports):
        if text:
            show(text)


def _text(report: Report) -> str:
    numbers = (
        (report.removed, "episode", "left out"),
        (report.cut, "episode", "cut"),
        (report.duplicates, "duplicate", "copied once"),
    )
    parts = [
        f"{count_text(report.episodes, 'episode')}, {count_text(report.steps, 'step')}, {size_text(report.bytes)}",
        *(f"{count_text(count, noun)} {what}" for count, noun, what in numbers if count),
    ]
    return f"{report.destination}: {'; '.join(parts)}"


def _left_out(report: Report) -> str:
    parts = []
    if report.left_out:
        parts.append(f"{count_text(len(report.left_out), 'episode')} being recorded left out")
    if report.annotations_left_out:
        parts.append(f"{count_text(report.annotations_left_out, 'annotation')} of steps that were cut off left out")
    return "; ".join(parts)
