"""What was measured, as tables."""

import statistics
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from side_by_side.tables import row, short, spread

from mug_side.loads import Load
from mug_side.pairs import Pair
from mug_side.records import Record


def _lists() -> defaultdict[tuple[str, str], list[list[float]]]:
    return defaultdict(list)


@dataclass
class Found:
    """Of all rounds.

    Attributes:
      delays: milliseconds of each press, by system and link.
      loads: by system and number of sessions.
      waiting: KiB for each who waits, by system.
      in_page: MUG's server is killed while the page steps.
      on_server: rows that MUG writes of an episode that its server stepped.
      studio: the studio is killed.
      pairs: two people, by system and link.
    """

    delays: defaultdict[tuple[str, str], list[list[float]]] = field(default_factory=_lists)
    loads: defaultdict[tuple[str, int], list[Load]] = field(default_factory=lambda: defaultdict(list))
    waiting: defaultdict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    in_page: list[Record] = field(default_factory=list)
    on_server: list[int] = field(default_factory=list)
    studio: list[Record] = field(default_factory=list)
    pairs: defaultdict[tuple[str, str], list[Pair]] = field(default_factory=lambda: defaultdict(list))


def lines(found: Found, people: int) -> Iterator[str]:
    """The tables of what was measured."""
    if found.delays:
        yield from _delays(found)
    if found.pairs:
        yield from _pairs(found)
    if found.loads:
        yield from _loads(found)
    if found.waiting:
        yield from _waiting(found, people)
    if found.studio:
        yield from _records(found)


def _table(*rows: Sequence[str]) -> Iterator[str]:
    yield row(rows[0])
    yield row(["---"] * len(rows[0]))
    yield from map(row, rows[1:])
    yield ""


def _milliseconds(rounds: Sequence[Sequence[float]]) -> tuple[str, str]:
    """The median of the medians with its spread, and what 95 % of all presses are below."""
    ordered = sorted(each for one in rounds for each in one)
    return spread([statistics.median(one) for one in rounds]), short(ordered[int(len(ordered) * 0.95)])


def _delays(found: Found) -> Iterator[str]:
    links = list(dict.fromkeys(link for _, link in found.delays))
    names = dict.fromkeys(name for name, _ in found.delays)
    head = ["key to picture, ms", *(each for link in links for each in (f"{link}: median", "p95"))]
    cells = [[name, *(each for link in links for each in _milliseconds(found.delays[name, link]))] for name in names]
    yield from _table(head, *cells)


def _pairs(found: Found) -> Iterator[str]:
    head = ["two players", "link", "episodes that ended", "steps that differ", "own key to picture, ms: median", "p95"]
    cells = []
    for (name, link), rounds in found.pairs.items():
        steps, wrong = sum(each.steps for each in rounds), sum(each.differing for each in rounds)
        with_wrong = sum(each.differing > 0 for each in rounds)
        reported = f"{wrong:,} of {steps:,}, in {with_wrong} episodes" if wrong else f"0 of {steps:,}"
        ended = f"{sum(each.is_over for each in rounds)} of {len(rounds)}"
        cells.append([name, link, ended, reported, *_milliseconds([each.own for each in rounds])])
    yield from _table(head, *cells)


def _loads(found: Found) -> Iterator[str]:
    head = ["sessions at 30 steps a second", "number", "pictures/s, slowest", "server's CPU, % of a core, each"]
    cells = [
        [
            name,
            f"{count}",
            spread([each.frames for each in rounds]),
            spread([100 * each.cpu / count for each in rounds]),
        ]
        for (name, count), rounds in found.loads.items()
    ]
    yield from _table(head, *cells)


def _waiting(found: Found, people: int) -> Iterator[str]:
    head = [f"{people} people who wait for others", "memory of the server, KiB each"]
    yield from _table(head, *([name, spread(values)] for name, values in found.waiting.items()))


def _records(found: Found) -> Iterator[str]:
    head = ["kill -9 in mid-episode", "steps played", "of these on disk", "when the page has played on to the end"]
    yield from _table(
        head,
        ["MUG, steps in the page", *_steps(found.in_page), _range([each.later or 0 for each in found.in_page])],
        ["MUG, steps on its server", "300, nothing killed", _range(found.on_server), "-"],
        ["rlds_kit", *_steps(found.studio), "-"],
    )


def _steps(each: Sequence[Record]) -> tuple[str, str]:
    return _range([one.played for one in each]), _range([one.on_disk for one in each])


def _range(values: Sequence[int]) -> str:
    return f"{min(values)}" if len(set(values)) == 1 else f"{min(values)} to {max(values)}"
