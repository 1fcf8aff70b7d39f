"""What is promised, and whether it is kept; the table of every contest."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from side_by_side.tables import row, spread

from pipelines_side import contests
from pipelines_side.contests import Contest, System

Rounds = Sequence[dict[str, Any]]
"""What one system measured in one contest, a dict a round."""
Results = Mapping[str, Mapping[str, Rounds]]
"""By title of the contest and name of the system."""

MEMORY_MIB: Final = 300
CONSTANT: Final = 1.1
"""Memory in the second half of an epoch, as a multiple of that in the first, that counts as constant."""
STARTUP_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Goal:
    """So many times better than a peer.

    Attributes:
      row: of which contests.
      ours, peer: systems.
      times: how much better; promised for Atari frames, and on other inputs nothing but to be better.
    """

    row: str
    ours: System
    peer: System
    times: float


GOALS: Final = (
    Goal("transitions-in-memory", contests.DENSE, contests.TUTORIAL, 20),
    Goal("transitions-in-memory", contests.DENSE, contests.BEST, 4),
    Goal("windows-in-memory", contests.OUR_MEMORY_WINDOWS, contests.RLDS_WINDOWS, 1),
    *(
        Goal("windows", ours, peer, 5)
        for ours in (contests.OUR_WINDOWS, contests.DRAWN_WINDOWS)
        for peer in (contests.tfds_windows("zlib"), contests.tfds_windows("none"), contests.MINARI_WINDOWS)
    ),
    Goal("statistics", contests.OUR_STATISTICS, contests.RLDS_STATISTICS, 1),
    *(
        Goal("transitions", ours, contests.tfds(encoding, variant), times)
        for ours, variant, times in (
            (contests.BLOCKS, "best", 10),
            (contests.BLOCKS, "shuffled", 10),
            (contests.GLOBAL, "shuffled", 3),
        )
        for encoding in ("zlib", "png", "none")
    ),
    Goal("bytes", contests.OUR_FILES, contests.tfds_files("png"), 8),
    Goal("bytes", contests.OUR_FILES, contests.tfds_files("zlib"), 6),
    Goal("bytes", contests.OUR_FILES, contests.tfds_files("none"), 1),
    Goal("memory", contests.GLOBAL, contests.tfds("zlib", "shuffled whole"), 1),
    Goal("memory", contests.GLOBAL, contests.tfds("none", "shuffled whole"), 1),
)


_LESS_IS_BETTER: Final = {"bytes": "bytes", "memory": "peak_mib"}
HEADER: Final = ("work", "ours", "against", "goal", "median", "lowest", "highest", "met", "by CPU time")


def promises(results: Results, played: Sequence[Contest]) -> list[str]:
    """The table of what is promised. Ratios are of numbers of the same round; the last column is for information."""
    lines = [row(HEADER), row(["---"] * len(HEADER))]
    for contest in played:
        found = results[contest.title]
        lines += [
            _ratio(contest, goal, found[goal.ours.name], found[goal.peer.name])
            for goal in GOALS
            if goal.row == contest.row and goal.ours.name in found and goal.peer.name in found
        ]
        for system in contest.systems:
            if contest.verb in _LIMITS and system.files == "recording":
                lines += _LIMITS[contest.verb](contest, system, found[system.name])
    return lines


def _ratio(contest: Contest, goal: Goal, ours: Rounds, peers: Rounds) -> str:
    times = goal.times if contest.given.kind == "atari" else 1
    if contest.verb in _LESS_IS_BETTER:
        ratios, of_cpu = _ratios(_LESS_IS_BETTER[contest.verb], peers, ours), ""
    else:
        ratios = _ratios("per_second", ours, peers)
        of_cpu = f"{statistics.median(_ratios('per_cpu_second', ours, peers)):.3g}x"
    names, met = (goal.ours.name, goal.peer.name), statistics.median(ratios) >= times
    return _line(contest, names, f"{times:g}x or more", ratios, "{:.3g}x", met=met, of_cpu=of_cpu)


def _ratios(key: str, these: Rounds, those: Rounds) -> list[float]:
    return [one[key] / other[key] for one, other in zip(these, those, strict=True)]


def _memory(contest: Contest, system: System, rounds: Rounds) -> list[str]:
    if contest.given.kind != "atari":
        return []  # nothing is promised but to need less than the peer
    peaks, growths = [one["peak_mib"] for one in rounds], [growth(one) for one in rounds]
    names = (system.name, "a limit")
    return [
        _line(contest, names, f"below {MEMORY_MIB} MiB", peaks, "{:.0f} MiB", met=max(peaks) < MEMORY_MIB),
        _line(contest, names, f"constant: below {CONSTANT:g}x", growths, "{:.3g}x", met=max(growths) < CONSTANT),
    ]


def _startup(contest: Contest, system: System, rounds: Rounds) -> list[str]:
    seconds = [one["seconds"] for one in rounds]
    names, met = (system.name, "a limit"), statistics.median(seconds) < STARTUP_SECONDS
    return [_line(contest, names, f"below {STARTUP_SECONDS:g} s", seconds, "{:.2f} s", met=met)]


def _line(
    contest: Contest,
    names: tuple[str, str],
    goal: str,
    values: Sequence[float],
    form: str,
    *,
    met: bool,
    of_cpu: str = "",
) -> str:
    numbers = [form.format(number) for number in (statistics.median(values), min(values), max(values))]
    return row([contest.title, *names, goal, *numbers, "yes" if met else "NO", of_cpu])


_LIMITS: Final[dict[str, Callable[[Contest, System, Rounds], list[str]]]] = {"memory": _memory, "startup": _startup}


def growth(result: dict[str, Any]) -> float:
    """Memory in the second half of an epoch, as a multiple of that in the first: medians of the samples."""
    half = result["elements"] / 2
    first, second = (
        statistics.median(mib for delivered, mib in result["samples"] if (delivered > half) is late)
        for late in (False, True)
    )
    return float(second / first)


Column = tuple[str, Callable[[dict[str, Any]], float]]
_COLUMNS: Final[dict[str, tuple[Column, ...]]] = {
    "speed": (
        ("{unit}", lambda one: one["per_second"]),
        ("{unit} of CPU", lambda one: one["per_cpu_second"]),
        ("peak MiB", lambda one: one["peak_mib"]),
    ),
    "bytes": (("bytes/step", lambda one: one["bytes"]),),
    "memory": (("peak MiB", lambda one: one["peak_mib"]), ("second half over first", growth)),
    "startup": (
        ("seconds", lambda one: one["seconds"]),
        ("of it import", lambda one: one["import"]),
        ("whole process", lambda one: one["process"]),
    ),
}


def measurements(contest: Contest, systems: Mapping[str, Rounds], left_out: Mapping[str, str]) -> list[str]:
    """The table of one contest: medians, and how far the rounds lie apart.

    Args:
      contest: which.
      systems: what was measured.
      left_out: systems that cannot run here, and why.
    """
    columns = _COLUMNS[contest.verb]
    mixed = ("travel", "spread") if contest.row == "transitions" else ()
    elements = ("elements",) if contest.check is not None else ()
    header = ["system", *(name.format(unit=contest.unit) for name, _ in columns), *mixed, *elements]
    lines = [row(header), row(["---"] * len(header))]
    for name, rounds in systems.items():
        cells = [spread([get(one) for one in rounds]) for _, get in columns]
        lines.append(
            row([name, *cells, *(f"{rounds[0][key]:.2f}" for key in mixed), *(rounds[0][key] for key in elements)])
        )
    return lines + [row([name, f"left out: {why}", *[""] * (len(header) - 2)]) for name, why in left_out.items()]
