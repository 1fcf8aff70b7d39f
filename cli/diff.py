"""`rlds-kit diff`."""

from dataclasses import replace
from typing import Any, Final

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.output import json_option, plain, print_json, show, table
from rlds_kit.cli.trouble import reporting_errors
from rlds_kit.convert.opening import open_any
from rlds_kit.tools.compare import FieldDifference, Match, Report, diff

SHOWN: Final = 10
"""Numbers of episodes that are listed before dots."""


@click.command("diff")
@click.argument("a", type=click.Path())
@click.argument("b", type=click.Path())
@click.option("--fields", metavar="NAME,NAME", help="Compare these fields of steps and nothing else.")
@click.option(
    "--match",
    type=click.Choice(["id", "order", "digest"]),
    help="Which episodes to compare with each other. By default those of one id, or if there are none, of one place.",
)
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, help="First differences to list.")
@json_option
@click.pass_context
def diff_command(
    ctx: click.Context, a: str, b: str, *, fields: str | None, match: Match | None, limit: int, as_json: bool
) -> None:
    """Compare two datasets, bit for bit: values, types, shapes, order, ends, metadata, layers.

    A and B are datasets of rlds_kit or TFDS, tfds:name, hf://org/name, or any dataset that `rlds-kit convert` reads,
    which is converted into a cache the first time. Episodes with equal content digests are not decoded. Ids, clock
    times, package versions and the layout on disk are ignored.

    \b
    rlds-kit diff data/pong data/copy
    rlds-kit diff data/pong data/other --fields observation,reward --match order
    rlds-kit diff data/pong data/copy --json | jq '.fields[].field'

    Exit codes: 0 they are equal; 1 they differ; 2 they cannot be compared.
    """  # noqa: D301  the backspace disables wrapping
    names = None if fields is None else [name.strip() for name in fields.split(",") if name.strip()]
    if names == []:
        raise click.BadParameter("expected names of fields with commas between, got none", ctx, param_hint="--fields")
    with reporting_errors(), progress_bar("comparing", hidden=as_json) as progress:
        opened = open_any(a, progress), open_any(b, progress)
        found = diff(*opened, fields=names, match=match, limit=limit, progress=progress)
    report = replace(found, a=a, b=b)  # as given: other formats are opened from the cache
    if as_json:
        print_json({"equal": report.equal, **plain(report)})
    else:
        _print(report)
    ctx.exit(0 if report.equal else 1)


def _print(report: Report) -> None:
    if report.fields:
        show(_fields(report.fields))
    if report.first:
        show(_first(report))
    for side, numbers in (("A", report.only_a), ("B", report.only_b)):
        if numbers:
            show(f"only in {side}: {count_text(len(numbers), 'episode')} ({_listed(numbers)})")
    for layer in report.layers:
        show(f"layer {layer.name}: {layer.only_a:,} annotations only in A, {layer.only_b:,} only in B")
    if report.reordered:
        show(f"in another order in B: {count_text(report.reordered, 'episode')}")
    pairs = count_text(report.pairs, "episode")
    compared = f"{pairs} matched by {report.match}, {report.by_digest:,} equal by content digest"
    verdict = "equal" if report.equal else f"different ({report.differing:,} of the episodes matched)"
    show(f"{report.a} and {report.b}: {verdict}; {compared}")


def _fields(fields: tuple[FieldDifference, ...]) -> Any:  # a rich table
    rows = [
        (
            each.field,
            each.kind,
            f"{each.count:,}",
            f"{each.values:,}",
            "" if each.max_difference is None else f"{each.max_difference:.6g}",
            each.first.place,
        )
        for each in fields
    ]
    return table("field", "differs in", ">places", ">values", ">at most by", "first", rows=rows)


def _first(report: Report) -> Any:  # a rich table
    rows = [(each.place, each.field, each.a, each.b) for each in report.first]
    return table("where", "field", "A", "B", rows=rows)


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers[:SHOWN])) + (", ..." if len(numbers) > SHOWN else "")
