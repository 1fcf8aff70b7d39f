"""Medians with their spread, ratios round by round, and the goals."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from side_by_side.make_traces import GAMES

Rounds = Sequence[dict[str, Any]]
"""What one system measured in one contest, a dict a round."""
Results = Mapping[str, Mapping[str, Rounds]]
"""By contest and system."""


@dataclass(frozen=True)
class Goal:
    """A line of the promise.

    Attributes:
      work: what is measured.
      goal: the ratio to reach.
      at_least: whether more is better.
      ratio: of one round of ours and one of the peer's.
      peer: its name; None compares with ourselves.
    """

    work: str
    goal: float
    at_least: bool
    ratio: Callable[[dict[str, Any], dict[str, Any]], float]
    peer: str | None


_ENVLOGGER: Final = "EnvLogger 1.2"
GOALS: Final = (
    Goal(
        "time of the caller per recorded step, times less", 10, True, lambda a, b: b["caller"] / a["caller"], _ENVLOGGER
    ),
    Goal("CPU per recorded step, times less", 5, True, lambda a, b: b["cpu"] / a["cpu"], _ENVLOGGER),
    Goal("bytes per step on disk, share", 0.65, False, lambda a, b: a["bytes"] / b["bytes"], _ENVLOGGER),
    Goal("full scan, times faster", 10, True, lambda a, b: _speed(a, "scan") / _speed(b, "scan"), _ENVLOGGER),
    Goal("full scan, times faster", 5, True, lambda a, b: _speed(a, "scan") / _speed(b, "scan"), "TFDS tfrecord PNG"),
    Goal(
        "rewards only, times faster than a full scan",
        20,
        True,
        lambda a, _: _speed(a, "rewards") / _speed(a, "scan"),
        None,
    ),
    Goal("rewards only, times faster", 100, True, lambda a, b: _speed(a, "rewards") / _speed(b, "rewards"), _ENVLOGGER),
)


def _speed(result: dict[str, Any], what: str) -> float:
    return float(result[what]["steps_per_s"])


def goals(results: Results) -> list[str]:
    """The table of what is promised, and whether it is kept. Promises are about Atari; other rows say what is so."""
    lines = ["| work | against | input | goal | median | lowest | highest | met |", "|---|---|---|---|---|---|---|---|"]
    for goal in GOALS:
        for contest, systems in results.items():
            names = list(systems)
            ours = next((name for name in names if name.startswith("rlds_kit")), None)
            if ours is None or (goal.peer is not None and goal.peer not in systems):
                continue
            peer = systems[goal.peer] if goal.peer is not None else systems[ours]
            ratios = [goal.ratio(one, other) for one, other in zip(systems[ours], peer, strict=True)]
            median = statistics.median(ratios)
            promised = contest.split(" ")[0] in GAMES
            met = median >= goal.goal if goal.at_least else median <= goal.goal
            sign = ">=" if goal.at_least else "<="
            verdict = ("yes" if met else "NO") if promised else "not promised"
            lines.append(
                f"| {goal.work} | {goal.peer or 'ourselves'} | {contest} | {sign} {goal.goal:g} | {median:.3g} "
                f"| {min(ratios):.3g} | {max(ratios):.3g} | {verdict} |"
            )
    return lines


COLUMNS: Final[tuple[tuple[str, Callable[[dict[str, Any]], float]], ...]] = (
    ("caller us/step", lambda result: result["caller"]),
    ("p50", lambda result: result["p50"]),
    ("p99", lambda result: result["p99"]),
    ("worst ms", lambda result: result["worst"] / 1000),
    ("CPU us/step", lambda result: result["cpu"]),
    ("steps/s", lambda result: result["steps_per_s"]),
    ("bytes/step", lambda result: result["bytes"]),
    ("peak MB", lambda result: result["peak_mb"]),
    ("scan steps/s", lambda result: result["scan"]["steps_per_s"]),
    ("rewards steps/s", lambda result: result["rewards"]["steps_per_s"]),
)


def measurements(systems: Mapping[str, Rounds], left_out: Mapping[str, str]) -> list[str]:
    """The table of one contest: median of every number, and how far the rounds lie apart.

    Args:
      systems: what was measured.
      left_out: systems that cannot run here, and why.
    """
    header = ["system", *(name for name, _ in COLUMNS), "read back"]
    lines = [row(header), row(["---"] * len(header))]
    for name, rounds in systems.items():
        cells = [spread([get(result) for result in rounds]) for _, get in COLUMNS]
        lines.append(row([name, *cells, _fidelity(rounds)]))
    return lines + [row([name, "left out: " + why, *[""] * len(COLUMNS)]) for name, why in left_out.items()]


def spread(values: Sequence[float]) -> str:
    """The median, and how far the value that is farthest from it is off."""
    median = statistics.median(values)
    off = max(abs(value - median) for value in values) / abs(median) if median else 0
    return f"{short(median)} ±{off:.0%}"


def short(number: float) -> str:
    """Three digits, or all before the point."""
    return f"{number:,.0f}" if abs(number) >= 100 else f"{number:.3g}"


def _fidelity(rounds: Rounds) -> str:
    found = next((result["fidelity"] for result in rounds if "fidelity" in result), {})
    wrong = [f"{field} {problem}" for field, problem in found.items() if problem != "exact"]
    return "; ".join(wrong) or "exact"


def row(cells: Sequence[str]) -> str:
    """Of a table in Markdown."""
    return f"| {' | '.join(cells)} |"
