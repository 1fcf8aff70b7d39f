"""`rlds-kit plot`."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import click

import rlds_kit
from rlds_kit.base.errors import DamageWarning
from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.output import json_option, print_json, show
from rlds_kit.dataset.location import directory_of
from rlds_kit.tools import plot

ENDINGS: Final = (".png", ".svg", ".pdf")


def check_picture(ctx: click.Context, parameter: click.Parameter, path: Path | None) -> Path | None:
    """Checks that a picture can be written to a path, before any data are read.

    Raises:
      BadParameter: its ending is not one of ENDINGS, or its folder does not exist.
    """
    if path is None:
        return None
    if path.suffix.lower() not in ENDINGS:
        raise click.BadParameter(
            f"expected a name that ends in {', '.join(ENDINGS)}, got {str(path)!r}", ctx, parameter
        )
    if not path.parent.is_dir():
        raise click.BadParameter(f"there is no folder {str(path.parent)!r}; make it first", ctx, parameter)
    return path


@click.command("plot")
@click.argument("datasets", nargs=-1, required=True, type=click.Path())
@click.option(
    "--output",
    "-o",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_picture,
    help="FILE.png, .svg or .pdf",
)
@click.option(
    "--bins",
    type=click.IntRange(plot.MIN_BINS, plot.MAX_BINS),
    default=plot.BINS,
    show_default=True,
    help="At most so many in each histogram.",
)
@json_option
def plot_command(datasets: tuple[str, ...], *, output: Path | None, bins: int, as_json: bool) -> None:
    """Draw histograms of returns, lengths and actions, of one dataset or several in the same bins.

    Only rewards and actions are decoded. --json prints the numbers; then no picture is needed, nor Matplotlib.

    \b
    rlds-kit plot data/pong -o pong.png
    rlds-kit plot data/pong data/breakout -o games.svg --bins 20
    rlds-kit plot data/pong --json | jq '.returns[0].datasets.pong.bins'

    Exit codes: 0 done; 1 there is no dataset, it is damaged, it has no episodes, or Matplotlib is not installed.
    """  # noqa: D301  the backspace disables wrapping
    opened = open_all([directory_of(path) for path in datasets])
    if output is None and not as_json:
        raise click.UsageError("expected a picture to write, as in `-o histograms.png`, or --json")
    if output is not None:
        plot.require_drawable(opened)
    with progress_bar("counting", hidden=as_json) as progress:
        found = plot.count(opened, bins=bins, progress=progress)
    if output is not None:
        plot.save(plot.draw(found), output)
    if as_json:
        print_json(found)
    else:
        drawn = len(found.returns) + 1 + len(found.actions)
        show(f"{output}: {count_text(drawn, 'histogram')} of {count_text(len(opened), 'dataset')}")


def open_all(paths: Sequence[Path]) -> dict[str, rlds_kit.Dataset]:
    """Opens datasets, each by a name that distinguishes it from the others.

    Raises:
      ClickException: opening skipped damaged bytes, so that episodes may be missing.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("error", DamageWarning)
        try:
            return {name: rlds_kit.open(path) for name, path in zip(names_of(paths), paths, strict=True)}
        except DamageWarning as damage:
            raise click.ClickException(str(damage)) from damage


def names_of(paths: Sequence[Path]) -> list[str]:
    """The last parts of paths, as few as necessary to distinguish them.

    Raises:
      BadParameter: a path is given twice.

    >>> names_of([Path("/data/pong/old"), Path("/data/pong/new"), Path("/tmp/pong/new")])
    ['old', 'data/pong/new', 'tmp/pong/new']
    """
    parts = [path.resolve().parts for path in paths]
    twice = [str(path) for path, own in zip(paths, parts, strict=True) if parts.count(own) > 1]
    if twice:
        raise click.BadParameter(f"{' and '.join(twice)} are the same; give each dataset once")
    names = []
    for own in parts:
        length = 1
        while sum(other[-length:] == own[-length:] for other in parts) > 1:
            length += 1
        names.append(str(Path(*own[-length:])))
    return names
