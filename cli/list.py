"""`rlds-kit list`."""

import os
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click

from rlds_kit.base.errors import DamageWarning, RldsKitError
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, print_json, show, table
from rlds_kit.dataset.dataset import open_dataset
from rlds_kit.dataset.hub import published
from rlds_kit.dataset.location import HUB
from rlds_kit.riegeli import RiegeliError
from rlds_kit.storage.directory import is_dataset, shards_in


@dataclass(frozen=True, slots=True)
class Found:
    """A dataset that was found in a directory.

    Attributes:
      path: its directory.
      environment: the id of the recorded environment; empty if unknown.
      episodes: number of episodes, without those that are being recorded.
      steps: of these episodes.
      bytes: of its shards.
      problem: why it cannot be opened; the numbers are 0 then.
    """

    path: Path
    environment: str = ""
    episodes: int = 0
    steps: int = 0
    bytes: int = 0
    problem: str = ""


def datasets_in(root: str | os.PathLike[str]) -> Iterator[Found]:
    """The datasets in a directory, including itself, in the order of their paths. Hidden directories are skipped.

    Raises:
      NotADirectoryError: `root` is not a directory.

    >>> [found.path.name for found in datasets_in("data")]  # doctest: +SKIP
    ['cartpole', 'pong']
    """
    if not Path(root).is_dir():
        raise NotADirectoryError(f"{root}: expected a dataset, or a directory with some below it")
    for place, below, _ in os.walk(root):
        below[:] = sorted(name for name in below if not name.startswith("."))
        if is_dataset(Path(place)):
            below.clear()  # layers, not datasets
            yield _opened(Path(place))


def _opened(path: Path) -> Found:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DamageWarning)  # `rlds-kit verify` reports damage
            dataset = open_dataset(path)
            environment = str(dataset.environment.get("id", ""))
        size = sum(shard.stat().st_size for shard in shards_in(path))
        return Found(path, environment, len(dataset.episodes), sum(dataset.lengths()), size)
    except (RldsKitError, RiegeliError, OSError) as error:
        return Found(path, problem=str(error))


@click.command("list")
@click.argument("place", type=click.Path(), default=".")
@json_option
def list_command(place: str, *, as_json: bool) -> None:
    """List the datasets in a directory, or those that a user has published.

    PLACE is a directory, which is searched with all below it, or "hf://" and the name of an organisation or person on
    the Hugging Face Hub.

    \b
    rlds-kit list data
    rlds-kit list hf://me

    Exit codes: 0 done, also if there are none; 1 PLACE cannot be read.
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
