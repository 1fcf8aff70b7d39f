"""The commands that make a dataset from others: `rlds-kit delete`, `filter`, `merge`, `split` and `trim`."""

import uuid
from collections.abc import Sequence

import click

from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text, size_text
from rlds_kit.cli.output import json_option, print_json, show
from rlds_kit.cli.trouble import usage_errors
from rlds_kit.tools.edit.delete import delete
from rlds_kit.tools.edit.expression import parse
from rlds_kit.tools.edit.filter import filter  # noqa: A004  the name of the command
from rlds_kit.tools.edit.merge import merge
from rlds_kit.tools.edit.new_dataset import Report
from rlds_kit.tools.edit.split import split
from rlds_kit.tools.edit.trim import trim


@click.command("delete")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--id", "ids", type=click.UUID, multiple=True, required=True, help="Of an episode; once for each.")
@json_option
def delete_command(dataset: str, destination: str, ids: tuple[uuid.UUID, ...], *, as_json: bool) -> None:
    """Copy a dataset without some episodes.

    Nothing is decoded: ids, content digests and blocks of the others do not change. DATASET does not change and still
    has the episodes. DESTINATION must not exist, or be empty; it appears when it is complete.

    \b
    rlds-kit delete data/pong data/good --id 0b0b5f3e-5d0c-4d6e-9a0e-6a3f6b1f8c11

    Exit codes: 0 done; 1 there is no new dataset: there is no such episode, or the dataset is damaged (then repair it
    first); 2 an id is no UUID.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("deleting", hidden=as_json) as progress:
        report = delete(dataset, destination, ids, progress=progress)
    _print_reports([report], as_json=as_json)


def _condition(_: click.Context, __: click.Parameter, text: str) -> str:
    try:
        return parse(text).text
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


@click.command("filter")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--where", required=True, callback=_condition, help="Condition of the episodes to copy.")
@json_option
def filter_command(dataset: str, destination: str, *, where: str, as_json: bool) -> None:
    """Copy the episodes that meet a condition.

    Names in the condition are keys of the episodes' metadata, None where an episode has no such key, and length, end
    ('terminated', 'truncated', 'interrupted', 'incomplete'), return (the sum of the rewards), seed and id;
    metadata['key'] is for all other keys. There are numbers, text, arithmetic, comparisons, in, is None, and, or, not.

    Only fields in the condition are decoded: ids, content digests and blocks do not change, and neither does DATASET.
    DESTINATION must not exist, or be empty; it appears when it is complete.

    \b
    rlds-kit filter data/pong data/won --where "return > 0 and end == 'terminated'"
    rlds-kit filter data/pong data/ours --where "player is not None and player != 'guest'"

    Exit codes: 0 done, also if no episode is left; 1 there is no new dataset: no episode has a name in the condition,
    the condition cannot be evaluated, or the dataset is damaged (then repair it first); 2 the condition is invalid.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("filtering", hidden=as_json) as progress:
        report = filter(dataset, destination, where, progress=progress)
    if not report.episodes:
        click.echo(f"Warning: no episode meets the condition {where}; {destination} has none.", err=True)
    _print_reports([report], as_json=as_json)


@click.command("merge")
@click.argument("sources", type=click.Path(), nargs=-1, required=True)
@click.argument("destination", type=click.Path())
@json_option
def merge_command(sources: tuple[str, ...], destination: str, *, as_json: bool) -> None:
    """Put the episodes of several datasets into a new one.

    Nothing is decoded: ids, content digests, runs and blocks do not change. An episode that several SOURCES have is
    copied once. The SOURCES do not change. DESTINATION must not exist, or be empty; it appears when it is complete.

    \b
    rlds-kit merge data/pong data/pong-2 data/pong-all

    Exit codes: 0 done; 1 there is no new dataset: the specs contradict each other, two episodes have one id and
    different content, or a source is damaged (then repair it first).
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("merging", hidden=as_json) as progress:
        report = merge(sources, destination, progress=progress)
    _print_reports([report], as_json=as_json)


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
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Selects the split.")
@json_option
def split_command(dataset: str, destination: str, fractions: dict[str, float], *, seed: int, as_json: bool) -> None:
    """Copy each episode into one of several datasets.

    The part of an episode is chosen by a hash of its id, so it stays the same when other episodes are added.
    Nothing is decoded: ids, content digests and blocks do not change, and neither does DATASET. The parts are
    directories in DESTINATION, which must not exist, or be empty; all of them appear together when they are complete.

    \b
    rlds-kit split data/pong data/pong-split --part train=0.9 --part test=0.1

    Exit codes: 0 done; 1 there is no new dataset: the fractions do not sum to 1, or the dataset is damaged (then repair
    it first); 2 the fractions cannot be parsed.
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("splitting", hidden=as_json) as progress:
        reports = split(dataset, destination, fractions, seed=seed, progress=progress)
    _print_reports(list(reports.values()), as_json=as_json)


@click.command("trim")
@click.argument("dataset", type=click.Path())
@click.argument("destination", type=click.Path())
@click.option("--begin", type=int, default=0, show_default=True, help="First step of the copy; negative: from the end.")
@click.option("--end", type=int, help="One past the last step of the copy; negative: from the end.")
@click.option("--at", help="A field of bools, such as info/success: the first step where it is true is the last one.")
@click.option("--tag", help="A label of steps in some layer: the first step that has it is the last one.")
@json_option
def trim_command(
    dataset: str, destination: str, *, begin: int, end: int | None, at: str | None, tag: str | None, as_json: bool
) -> None:
    """Copy a dataset with its episodes cut short.

    An episode that loses no step does not change. Any other one gets a new id, which is derived from the old one and
    the cut, and its provenance records the original; if it loses its last step, it ends as INTERRUPTED. Only blocks at
    the ends of the cut are encoded again. DATASET does not change. DESTINATION must not exist, or be empty; it appears
    when it is complete.

    \b
    rlds-kit trim data/pong data/pong-start --end 100
    rlds-kit trim data/reach data/reached --at info/success

    Exit codes: 0 done, also if no episode is left; 1 there is no new dataset: no episode has the field or the tag, the
    field is not one bool per step, or the dataset is damaged (then repair it first).
    """  # noqa: D301  the backspace disables wrapping
    with usage_errors(), progress_bar("trimming", hidden=as_json) as progress:
        report = trim(dataset, destination, begin=begin, end=end, at=at, tag=tag, progress=progress)
    _print_reports([report], as_json=as_json)


def _print_reports(reports: Sequence[Report], *, as_json: bool) -> None:
    """Prints reports: as JSON a single one as an object, several as a list."""
    if as_json:
        print_json(reports[0] if len(reports) == 1 else reports)
        return
    for report in reports:
        show(_text(report))
    for text in dict.fromkeys(_left_out(report) for report in reports):
        if text:
            show(text)


def _text(report: Report) -> str:
    numbers = (
        (report.removed, "episode", "left out"),
        (report.cut, "episode", "cut"),
        (report.duplicates, "duplicate", "copied once"),
    )
    parts = [
        f"{count_text(report.episodes, 'episode')}, {count_text(report.steps, 'step')}, {size_text(report.bytes)}",
        *(f"{count_text(count, noun)} {what}" for count, noun, what in numbers if count),
    ]
    return f"{report.destination}: {'; '.join(parts)}"


def _left_out(report: Report) -> str:
    parts = []
    if report.left_out:
        parts.append(f"{count_text(len(report.left_out), 'episode')} being recorded left out")
    if report.annotations_left_out:
        parts.append(f"{count_text(report.annotations_left_out, 'annotation')} of steps that were cut off left out")
    return "; ".join(parts)
