"""`rlds-kit replay`."""

import importlib
import re
from collections.abc import Iterable
from typing import Any, Final

import click

import rlds_kit
from rlds_kit.base.progress import progress_bar
from rlds_kit.base.quantities import count_text
from rlds_kit.cli.output import json_option, plain, print_json, show, table
from rlds_kit.cli.trouble import TROUBLE, Trouble, reporting_errors
from rlds_kit.tools.replay import Outcome, Report, replay

SHOWN: Final = 20
"""Divergences and reasons that are listed before the rest is only counted."""
_RANGE: Final = re.compile(r"(-?\d+)|(\d*):(\d*)")


def numbers_of(text: str, count: int) -> list[int]:
    """Parses numbers of episodes.

    Args:
      text: numbers, negative ones from the end, and ranges without their end, with commas between.
      count: number of episodes.

    Raises:
      BadParameter: it has another form, or there is no such episode.

    >>> numbers_of("0,3:5,-1", 10)
    [0, 3, 4, 9]
    """
    found: dict[int, None] = {}
    for part in text.split(","):
        match = _RANGE.fullmatch(part.strip())
        if match is None:
            raise click.BadParameter(f"expected numbers and ranges as in 0,3:5,-1, got {part.strip()!r}")
        try:
            found.update(dict.fromkeys(_numbers(match, count)))
        except IndexError:
            raise click.BadParameter(f"the dataset has {count} episodes, there is no episode {part.strip()}") from None
    return list(found)


def _numbers(match: re.Match[str], count: int) -> Iterable[int]:
    if match[1]:
        return [range(count)[int(match[1])]]
    return range(count)[int(match[2] or 0) : int(match[3] or count)]


@click.command("replay")
@click.argument("dataset", type=click.Path())
@click.option("--episodes", metavar="NUMBERS", help="To play: numbers and ranges, as in 0,3:5,-1. By default all.")
@click.option("--info", "with_info", is_flag=True, help="Compare infos, too.")
@click.option("--import", "modules", metavar="MODULE", multiple=True, help="Import this first: it registers the games.")
@json_option
@click.pass_context
def replay_command(
    ctx: click.Context,
    dataset: str,
    *,
    episodes: str | None,
    with_info: bool,
    modules: tuple[str, ...],
    as_json: bool,
) -> None:
    """Replay recorded episodes, and compare observations, rewards and ends.

    Makes the recorded Gymnasium environment, resets it with the seed and options of each episode, and takes the
    recorded actions. Reports for every episode the first difference, or why it cannot be replayed.

    \b
    rlds-kit replay data/cartpole
    rlds-kit replay data/pong --episodes 0:10
    rlds-kit replay data/maze --import minigrid

    Exit codes: 0 all episodes are equal to the recorded ones; 1 some differ; 2 none differs, but some cannot be
    replayed.
    """  # noqa: D301  the backspace disables wrapping
    with reporting_errors():
        _import(modules)
        opened = rlds_kit.open(dataset)
        chosen = None if episodes is None else numbers_of(episodes, len(opened.episodes))
        with progress_bar("replaying", hidden=as_json) as progress:
            report = replay(opened, episodes=chosen, with_info=with_info, progress=progress)
    if as_json:
        print_json({"ok": report.ok, **plain(report)})
    else:
        _print(report)
    ctx.exit(1 if report.diverged else TROUBLE if report.not_replayed else 0)


def _import(modules: tuple[str, ...]) -> None:
    for name in modules:
        try:
            importlib.import_module(name)
        except ImportError as error:
            raise Trouble(f"--import {name}: {error}") from error


def _print(report: Report) -> None:
    if report.diverged:
        show(_divergences(report.diverged))
        _rest(report.diverged, "differ")
    if report.not_replayed:
        rows = [
            (str(each.episode), f"{each.replayed:,} of {each.actions:,}", each.reason) for each in report.not_replayed
        ]
        show(table("not played again", ">actions", "why", rows=rows[:SHOWN]))
        _rest(report.not_replayed, "were not played to their end")
    for note in report.notes if report.diverged else ():
        show(note)
    diverged, others = len(report.diverged), len(report.not_replayed)
    actions = count_text(sum(each.replayed for each in report.outcomes), "action")
    show(
        f"{report.dataset}: {actions} of {count_text(len(report.outcomes), 'episode')} taken again; "
        f"{len(report.outcomes) - diverged - others:,} came out the same, {diverged:,} differ, "
        f"{others:,} were not played to their end"
    )


def _divergences(outcomes: tuple[Outcome, ...]) -> Any:  # a rich table
    rows = [
        (
            str(outcome.episode),
            str(each.step),
            each.field,
            each.recorded,
            each.replayed,
            "" if each.max_difference is None else f"{each.max_difference:.6g}",
        )
        for outcome in outcomes[:SHOWN]
        for each in outcome.divergences
    ]
    return table("differs in episode", ">step", "field", "recorded", "replayed", ">at most by", rows=rows)


def _rest(outcomes: tuple[Outcome, ...], what: str) -> None:
    if len(outcomes) > SHOWN:
        show(f"{count_text(len(outcomes) - SHOWN, 'more episode')} {what}")
