"""`rlds-kit repair`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.output import json_option, print_json, show, table
from rlds_kit.tools.upkeep.repair import RepairReport, repair


@click.command("repair")
@click.argument("dataset", type=click.Path())
@click.argument("copy", type=click.Path())
@json_option
@click.pass_context
def repair_command(ctx: click.Context, dataset: str, copy: str, *, as_json: bool) -> None:
    """Make a valid copy of a damaged dataset.

    DATASET does not change. COPY must not exist, or be empty. It gets every intact block, and every intact column of
    damaged blocks. If steps are lost, the others are renumbered, and the field `step_index` has their numbers in the
    original. All losses are listed.

    \b
    rlds-kit repair data/pong data/pong-repaired
    rlds-kit verify data/pong-repaired

    Exit codes: 0 everything was saved; 1 the copy is valid, but lacks the listed data.
    """  # noqa: D301  the backspace disables wrapping
    with progress_bar("repairing", hidden=as_json) as progress:
        report = repair(dataset, copy, progress)
    if as_json:
        print_json({"complete": not report.losses, **{name: getattr(report, name) for name in report.__slots__}})
    else:
        _print(report)
    ctx.exit(1 if report.losses else 0)


def _print(report: RepairReport) -> None:
    rows = [(each.shard, str(each.episode or ""), each.message) for each in report.losses]
    if rows:
        show("lost:", table("shard", "episode", "what", rows=rows))
    if report.left_out:
        show(f"{count_text(len(report.left_out), 'episode')} being recorded left out")
    saved = f"{count_text(report.episodes, 'episode')} and {count_text(report.steps, 'step')}"
    show(f"{report.destination}: {saved} saved in {count_text(report.shards, 'shard')}")
