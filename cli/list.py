"""`rlds-kit list`."""

import click

from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, print_json, show, table
from rlds_kit.dataset.datasets_in import Found, datasets_in
from rlds_kit.dataset.hub import published
from rlds_kit.dataset.location import HUB


@click.command("list")
@click.argument("place", type=click.Path(), default=".")
@json_option
def list_command(place: str, *, as_json: bool) -> None:
    """List the datasets in a directory, or those that somebody published.

    PLACE is a directory, which is searched with all below it, or "hf://" and the name of an organisation or person on
    the Hugging Face Hub.

    \b
    rlds-kit list data
    rlds-kit list hf://me

    Exit codes: 0 done, also where there are none; 1 PLACE cannot be read.
    """  # noqa: D301  the backspace disables wrapping
    if place.startswith(HUB):
        locations = published(place.removeprefix(HUB).strip("/"))
        if as_json:
            print_json([{"location": location} for location in locations])
        else:
            show(*(locations or [f"{place}: no dataset that rlds-kit published"]))
        return
    found = list(datasets_in(place))
    if as_json:
        print_json(found)
    elif not found:
        show(f"{place}: no dataset; `rlds-kit record` makes one")
    else:
        headings = ("dataset", "environment", ">episodes", ">steps", ">size")
        show(table(*headings, rows=[_row(each) for each in found]), count_text(len(found), "dataset"))


def _row(found: Found) -> tuple[str, ...]:
    if found.problem:
        return (str(found.path), f"cannot be opened: {found.problem}", "", "", "")
    numbers = (f"{found.episodes:,}", f"{found.steps:,}", size_text(found.bytes))
    return (str(found.path), found.environment, *numbers)
