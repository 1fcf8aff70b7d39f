"""`rlds-kit merge`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.cli.edit_output import print_reports, usage_errors
from rlds_kit.cli.output import json_option
from rlds_kit.tools.edit.merge import merge


@click.command("merge")
@click.argument("sources", type=click.Path(), nargs=-1, required=True)
@click.argument("destination", type=click.Path())
@json_option
def merge_command(sources: tuple[str, ...], destination: str, *, as_json: bool) -> None:
    """Put the episodes of several datasets into a new one.

    Nothing is decoded: ids, content digests, runs and blocks stay as they are. An episode that several SOURCES have is
    copied once. They are not touched; DESTINATION must not exist, or be empty, and is there as a whole or not at all.

    \b
    rlds-kit merge data/pong data/pong-2 data/pong-all

    Exit codes: 0 done; 1 there is no new dataset: the specs contradict each other, two episodes have one id and
    different content, or a source is damaged (then repair it first).
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("merging", hidden=as_json) as progress:
        report = merge(sources, destination, progress=progress)
    print_reports([report], as_json=as_json)
