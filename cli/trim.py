"""`rlds-kit trim`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.cli.edit_output import print_reports, usage_errors
from rlds_kit.cli.output import json_option
from rlds_kit.tools.edit.trim import trim


@click.command("trim")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--begin", type=int, default=0, show_default=True, help="First step to keep; below 0: from the end.")
@click.option("--end", type=int, help="One past the last step to keep; below 0: from the end.")
@click.option("--at", help="A field of bools, such as info/success: the first step where it is true is the last one.")
@click.option("--tag", help="A label of steps in some layer: the first step that has it is the last one.")
@json_option
def trim_command(
    dataset: str, destination: str, *, begin: int, end: int | None, at: str | None, tag: str | None, as_json: bool
) -> None:
    """Copy a dataset with its episodes cut short.

    An episode that loses nothing stays as it is. Another one gets a new id, which follows from the old one and the cut,
    and has in its provenance what it was cut from; if it loses its last step it ends as INTERRUPTED. Only blocks that
    the cut goes through are encoded again. DATASET is not touched; DESTINATION must not exist, or be empty, and is
    there as a whole or not at all.

    \b
    rlds-kit trim data/pong data/pong-start --end 100
    rlds-kit trim data/reach data/reached --at info/success

    Exit codes: 0 done, also if no episode is left; 1 there is no new dataset: no episode has the field or the tag, the
    field is not one bool a step, or the dataset is damaged (then repair it first).
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("trimming", hidden=as_json) as progress:
        report = trim(dataset, destination, begin=begin, end=end, at=at, tag=tag, progress=progress)
    print_reports([report], as_json=as_json)
