"""`rlds-kit delete`."""

import uuid

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.cli.edit_output import print_reports, usage_errors
from rlds_kit.cli.output import json_option
from rlds_kit.tools.edit.delete import delete


@click.command("delete")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--id", "ids", type=click.UUID, multiple=True, required=True, help="Of an episode; once for each.")
@json_option
def delete_command(dataset: str, destination: str, ids: tuple[uuid.UUID, ...], *, as_json: bool) -> None:
    """Copy a dataset without some episodes.

    Nothing is decoded: ids, content digests and blocks of the others stay as they are. DATASET is not touched and still
    has the episodes; DESTINATION must not exist, or be empty, and is there as a whole or not at all.

    \b
    rlds-kit delete data/pong data/good --id 0b0b5f3e-5d0c-4d6e-9a0e-6a3f6b1f8c11

    Exit codes: 0 done; 1 there is no new dataset: there is no such episode, or the dataset is damaged (then repair it
    first); 2 an id is no UUID.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("deleting", hidden=as_json) as progress:
        report = delete(dataset, destination, ids, progress=progress)
    print_reports([report], as_json=as_json)
