"""`rlds-kit split`."""

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.cli.edit_output import print_reports, usage_errors
from rlds_kit.cli.output import json_option
from rlds_kit.tools.edit.split import split


def _fractions(_: click.Context, __: click.Parameter, texts: tuple[str, ...]) -> dict[str, float]:
    fractions: dict[str, float] = {}
    for text in texts:
        name, _equals, number = text.partition("=")
        try:
            fraction = float(number)
        except ValueError as error:
            raise click.BadParameter(f"expected NAME=FRACTION such as train=0.9, got {text!r}") from error
        if name in fractions:
            raise click.BadParameter(f"expected each name once, got {name} twice")
        fractions[name] = fraction
    return fractions


@click.command("split")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option(
    "--part",
    "fractions",
    metavar="NAME=FRACTION",
    multiple=True,
    required=True,
    callback=_fractions,
    help="A part and its share of all episodes; once for each part.",
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Another one: another split.")
@json_option
def split_command(dataset: str, destination: str, fractions: dict[str, float], *, seed: int, as_json: bool) -> None:
    """Copy each episode into one of several datasets.

    A hash of an episode's id alone decides which, so that it stays in its part when others are added.
    Nothing is decoded: ids, content digests and blocks stay as they are. DATASET is not touched; the parts are the
    directories in DESTINATION, which must not exist, or be empty, and are there as a whole or not at all.

    \b
    rlds-kit split data/pong data/pong-split --part train=0.9 --part test=0.1

    Exit codes: 0 done; 1 there is no new dataset: the fractions do not sum to 1, or the dataset is damaged (then repair
    it first); 2 the fractions cannot be read.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("splitting", hidden=as_json) as progress:
        reports = split(dataset, destination, fractions, seed=seed, progress=progress)
    print_reports(list(reports.values()), as_json=as_json)
