"""`rlds-kit lint`."""

from collections.abc import Mapping, Sequence
from itertools import takewhile
from typing import Any, Final

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.output import json_option, plain, print_json, show, table
from rlds_kit.cli.trouble import reporting_errors
from rlds_kit.lint import RULES, Finding, Report, Rule, chosen, lint
from rlds_kit.lint.catalogue import page

SHOWN: Final = 5
"""Places that are listed before dots."""


def _explain(ctx: click.Context, _: click.Parameter, name: str | None) -> None:
    """Prints the page of a rule, or of each rule whose id has this prefix, and exits."""
    if name is None:
        return
    try:
        rules = chosen([name])
    except ValueError as error:
        raise click.BadParameter(str(error), ctx, param_hint="--explain") from error
    click.echo("\n".join(page(each) for each in rules).rstrip("\n"))
    ctx.exit(0)


def _names(_: click.Context, __: click.Parameter, given: tuple[str, ...]) -> list[str]:
    return [name.strip() for each in given for name in each.split(",") if name.strip()]


@click.command("lint")
@click.argument("datasets", nargs=-1, required=True, metavar="DATASET...")
@click.option("--against", multiple=True, metavar="DATASET", help="Must share no episode with these; may be repeated.")
@click.option("--select", multiple=True, metavar="RULES", callback=_names, help="Only these: ids, or how they begin.")
@click.option("--ignore", multiple=True, metavar="RULES", callback=_names, help="Not these, as in RK1,RK305.")
@click.option("--strict", is_flag=True, help="Warnings, too, make it exit with 1.")
@click.option("--statistics", is_flag=True, help="Only count, rule by rule.")
@click.option(
    "--explain", metavar="RULE", callback=_explain, is_eager=True, expose_value=False, help="Show what a rule is about."
)
@json_option
@click.pass_context
def lint_command(
    ctx: click.Context,
    datasets: tuple[str, ...],
    *,
    against: tuple[str, ...],
    select: list[str],
    ignore: list[str],
    strict: bool,
    statistics: bool,
    as_json: bool,
) -> None:
    """Find common faults of datasets of episodes.

    Detects shifted actions and rewards, false and repeated final observations, wrong ends, NaN, lossy images,
    duplicates, episodes that several datasets share, and more. DATASET is a dataset of rlds_kit, or a directory or file
    of a foreign format, which is read directly. Up to five episodes of each dataset are replayed.

    \b
    rlds-kit lint data/pong
    rlds-kit lint data/train --against data/test --select RK5
    rlds-kit lint halfcheetah_medium-v2.hdf5 --ignore RK204 --json
    rlds-kit lint --explain RK101

    Exit codes: 0 no errors; 1 errors, or with --strict warnings; 2 it cannot be checked.
    """  # noqa: D301  the backspace disables wrapping
    with reporting_errors(), progress_bar("checking", hidden=as_json) as progress:
        report = lint(*datasets, against=against, select=select, ignore=ignore, progress=progress)
    if as_json:
        print_json({"errors": len(report.errors), "warnings": len(report.warnings), **_json(report)})
    elif statistics:
        _print_statistics(report)
    else:
        _print(report)
    ctx.exit(1 if report.errors or (strict and report.warnings) else 0)


def _json(report: Report) -> dict[str, Any]:
    found: dict[str, Any] = plain(report)
    for each, finding in zip(found["findings"], report.findings, strict=True):
        each["severity"] = finding.severity.value
    return {**found, "statistics": report.statistics}


def _print(report: Report) -> None:
    for identifier in report.rules:
        rule = RULES[identifier]
        found = [each for each in report.findings if each.rule == identifier]
        show(f"{rule.id} {rule.title}", _findings(found, _short(report.datasets)))
    errors, warnings = len(report.errors), len(report.warnings)
    others = len(report.findings) - errors - warnings
    checked = f"{count_text(report.episodes, 'episode')} and {count_text(report.steps, 'step')}"
    counts = f"{count_text(errors, 'error')}, {count_text(warnings, 'warning')}, {others:,} for information"
    show(f"{checked} checked: {counts}")
    if report.rules:
        show(f"what a rule is about: rlds-kit lint --explain {report.rules[0]}")


def _short(datasets: Sequence[str]) -> dict[str, str]:
    """Short names of datasets: paths without the directories that all have in common; empty if there is only one.

    >>> _short(["data/pong/train", "data/pong/test"])
    {'data/pong/train': 'train', 'data/pong/test': 'test'}
    """
    if len(datasets) == 1:
        return {datasets[0]: ""}
    parts = [each.split("/") for each in datasets]
    folders = zip(*(each[:-1] for each in parts), strict=False)
    shared = sum(1 for _ in takewhile(lambda names: len(set(names)) == 1, folders))
    return {path: "/".join(each[shared:]) for path, each in zip(datasets, parts, strict=True)}


def _findings(findings: list[Finding], names: Mapping[str, str]) -> Any:  # a rich table
    rows = [
        (
            each.severity.value,
            ": ".join(part for part in (names[each.dataset], each.field) if part),
            each.message,
            f"{each.episodes:,}" if each.episodes else "",
            f"{each.count:,}",
            _places(each),
        )
        for each in findings
    ]
    return table("", "field", "what", ">episodes", ">count", "first at episode:step", rows=rows)


def _places(finding: Finding) -> str:
    text = ", ".join(map(str, finding.places[:SHOWN]))
    return f"{text}, ..." if len(finding.places) > SHOWN else text


def _print_statistics(report: Report) -> None:
    rows = [(f"{count:,}", *_about(RULES[identifier])) for identifier, count in report.statistics.items()]
    show(table(">count", "rule", "severity", "what", rows=rows))


def _about(rule: Rule) -> tuple[str, str, str]:
    return rule.id, rule.severity.value, rule.title
