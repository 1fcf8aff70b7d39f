"""`rlds-kit filter`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.cli.edit_output import print_reports, usage_errors
from rlds_kit.cli.output import json_option
from rlds_kit.tools.edit.expression import parse
from rlds_kit.tools.edit.filter import filter  # noqa: A004  the command's own name


def _condition(_: click.Context, __: click.Parameter, text: str) -> str:
    try:
        return parse(text).text
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command("filter")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--where", required=True, callback=_condition, help="Keep the episodes of which this holds.")
@json_option
def filter_command(dataset: str, destination: str, *, where: str, as_json: bool) -> None:
    """Copy the episodes of which a condition holds.

    Names in the condition are keys of the episodes' metadata, None where an episode has no such key, and length, end
    ('terminated', 'truncated', 'interrupted', 'incomplete'), return (the sum of the rewards), seed and id;
    metadata['key'] is for all other keys. There are numbers, text, arithmetic, comparisons, in, is None, and, or, not.

    Nothing but what the condition asks for is decoded: ids, content digests and blocks stay as they are. DATASET is not
    touched; DESTINATION must not exist, or be empty, and is there as a whole or not at all.

    \b
    rlds-kit filter data/pong data/won --where "return > 0 and end == 'terminated'"
    rlds-kit filter data/pong data/ours --where "player is not None and player != 'guest'"

    Exit codes: 0 done, also if no episode is left; 1 there is no new dataset: no episode has a name that the condition
    asks for, it cannot be decided, or the dataset is damaged (then repair it first); 2 it is no condition.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("filtering", hidden=as_json) as progress:
        report = filter(dataset, destination, where, progress=progress)
    print_reports([report], as_json=as_json)
