"""`rlds-kit verify`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import findings_table, json_option, print_json, show
from rlds_kit.dataset.location import directory_of
from rlds_kit.tools.upkeep.verify import VerifyReport, verify


@click.command("verify")
@click.argument("dataset", type=click.Path())
@click.option("--quiet", "-q", is_flag=True, help="Print problems only.")
@click.option(
    "--accept-missing",
    is_flag=True,
    help="Give up what is missing: note it in the dataset, and be silent of it from now on.",
)
@json_option
@click.pass_context
def verify_command(ctx: click.Context, dataset: str, *, quiet: bool, accept_missing: bool, as_json: bool) -> None:
    """Check every hash, every block and every rule of a dataset.

    Lists all problems with their places: file, bytes, episode, step. A crash leaves episodes without an end, and an
    incomplete chunk at the end of a file; these are notes, not damage. A closed file that is missing or has changed is
    a problem: copy the dataset again, or accept the loss. Nothing else is changed.

    \b
    rlds-kit verify data/pong
    rlds-kit verify data/pong --accept-missing
    rlds-kit verify data/pong --json | jq '.problems[].shard'

    Exit codes: 0 there are no problems; 1 there are some.
    """  # noqa: D301  the backspace disables wrapping
    with progress_bar("verifying", hidden=as_json) as progress:
        report = verify(directory_of(dataset), progress, accept_missing=accept_missing)
    if as_json:
        print_json({"ok": report.ok, **_fields(report)})
    else:
        _print(report, quiet=quiet)
    ctx.exit(0 if report.ok else 1)


def _fields(report: VerifyReport) -> dict[str, object]:
    return {name: getattr(report, name) for name in report.__slots__}


def _print(report: VerifyReport, *, quiet: bool) -> None:
    if report.problems:
        show(f"{count_text(len(report.problems), 'problem')}:", findings_table(report.problems))
    if report.accepted:
        show(f"{count_text(len(report.accepted), 'file')} given up:", findings_table(report.accepted))
    if quiet:
        return
    if report.notes:
        show(f"{count_text(len(report.notes), 'note')} (no damage):", findings_table(report.notes))
    what = ", ".join(
        (
            count_text(report.shards, "shard"),
            count_text(report.episodes, "episode"),
            count_text(report.steps, "step"),
            size_text(report.bytes),
        )
    )
    advice = "" if report.ok else "; `rlds-kit repair` makes a good copy"
    show(f"{report.directory}: {'all is well' if report.ok else 'damaged'} ({what} checked){advice}")
