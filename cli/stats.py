"""`rlds-kit stats`."""

from pathlib import Path
from typing import Any

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import size_text
from rlds_kit.cli.output import json_option, print_json, show, table
from rlds_kit.cli.plot import check_picture, open_all
from rlds_kit.dataset.location import directory_of
from rlds_kit.tools import plot
from rlds_kit.tools.upkeep.statistics import Statistics, Summary, statistics


@click.command("stats")
@click.argument("dataset", type=click.Path())
@click.option(
    "--plot",
    "picture",
    type=click.Path(dir_okay=False, path_type=Path),
    callback=check_picture,
    help="Also draw returns, lengths and actions, as `rlds-kit plot` does: FILE.png, .svg or .pdf.",
)
@json_option
def stats_command(dataset: str, *, picture: Path | None, as_json: bool) -> None:
    """Show lengths, returns and sizes of a dataset.

    Only rewards are decoded; the sizes of all other fields come from the headers of their blocks. A return is the sum
    of an episode's defined rewards.

    \b
    rlds-kit stats data/pong
    rlds-kit stats data/pong --json | jq .returns.reward.mean
    rlds-kit stats data/pong --plot pong.png

    Exit codes: 0 done; 1 a block header or a reward is damaged, or it could not be drawn.
    """  # noqa: D301  the backspace disables wrapping
    directory = directory_of(dataset)
    if picture is not None:
        with progress_bar("drawing", hidden=as_json) as progress:
            plot.save(plot.histograms(open_all([directory]), progress=progress), picture)
    with progress_bar("counting", hidden=as_json) as progress:
        found = statistics(directory, progress)
    if as_json:
        print_json(found)
    else:
        show(_counts(found), _summaries(found), _fields(found))


def _counts(found: Statistics) -> Any:  # a rich table
    endings = ", ".join(f"{count:,} {ending}" for ending, count in sorted(found.endings.items()))
    per_step = "" if found.bytes_per_step is None else f" ({found.bytes_per_step:,.1f} B per step)"
    per_block = "" if found.steps_per_block is None else f" ({found.steps_per_block:,.1f} steps each)"
    return table(
        str(found.directory),
        "",
        rows=[
            ("episodes", f"{found.episodes:,}" + (f" ({endings})" if endings else "")),
            ("steps", f"{found.steps:,}"),
            ("blocks", f"{found.blocks:,}{per_block}"),
            ("shards", f"{found.shards:,}, {size_text(found.bytes)}{per_step}"),
        ],
    )


def _summaries(found: Statistics) -> Any:  # a rich table
    lines = {} if found.length is None else {"length": found.length}
    lines |= {path if path != "reward" else "return": each for path, each in found.returns.items()}
    rows = [(name, *_numbers(each)) for name, each in lines.items()]
    return table("per episode", ">min", ">mean", ">median", ">max", ">std", rows=rows)


def _numbers(summary: Summary) -> tuple[str, ...]:
    numbers = (summary.min, summary.mean, summary.median, summary.max, summary.std)
    return tuple(f"{number:,.6g}" for number in numbers)


def _fields(found: Statistics) -> Any:  # a rich table
    total = sum(each.bytes for each in found.fields) or 1
    rows = [
        (
            each.path,
            ", ".join(each.types),
            f"{each.values:,}",
            size_text(each.bytes),
            f"{each.bytes / total:.1%}",
            f"{each.decoded_bytes / each.bytes:.1f}x" if each.bytes else "",
        )
        for each in found.fields
    ]
    return table("field", "type", ">values", ">stored", ">share", ">compressed", rows=rows)
