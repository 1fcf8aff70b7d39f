"""Measures how soon the table of a crowd's episodes answers a query of three predicates.

    python benchmarks/query_episodes.py            100,000 episodes, 21 rounds; some seconds
    python benchmarks/query_episodes.py --page docs/performance.md

Beside it, in the same rounds, a Python loop over the same rows in memory. The table is a file of SQLite.
"""

import argparse
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script's own folder is on the path, its checkout is not

from side_by_side import machine, page

from rlds_kit.crowd.collectors import SCORE, TIME_PLAYED
from rlds_kit.crowd.table import EpisodeTable, column

BEGIN: Final = "<!-- begin: benchmarks/query_episodes.py -->"
END: Final = "<!-- end: benchmarks/query_episodes.py -->"
GOAL_MS: Final = 50.0
TASKS: Final = tuple(f"task {number}" for number in range(10))


def main() -> None:
    """Measures, and prints Markdown."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--episodes", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=21)
    parser.add_argument("--page", type=Path, help="also put the report into this page")
    arguments = parser.parse_args()
    report = _report(arguments.episodes, arguments.rounds)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(report)


def _rows(episodes: int) -> Iterator[dict[str, Any]]:
    """Lines as `EpisodeTable.update` makes them of recordings."""
    chance = random.Random(0)
    for number in range(episodes):
        yield {
            "episode": f"{number:032x}",
            "seat": "player",
            "session": f"session {number // 5}",
            "participant": f"participant {number // 25}",
            "task": chance.choice(TASKS),
            "kind": "human",
            "started": float(number),
            "length": chance.randrange(5_000),
            "ending": "TERMINATED",
            "score": float(chance.randrange(1_000)),
            "time_played": chance.uniform(0, 80),
        }


def _report(episodes: int, rounds: int) -> str:
    before, rows = os.getloadavg()[0], list(_rows(episodes))
    predicate = (column("task") == TASKS[3]) & (column("score") >= 900) & (column("time_played") > 60)
    with tempfile.TemporaryDirectory() as folder, EpisodeTable(Path(folder) / "t", [SCORE, TIME_PLAYED]) as table:
        table.add(rows)
        ours, loop = [], []
        for _ in range(rounds):
            ours.append(_timed(lambda: table.where(predicate)))
            loop.append(_timed(lambda: [row for row in rows if _fits(row)]))
    if ours[0][1] != loop[0][1]:
        raise RuntimeError("the table and the loop found different episodes")
    lines = [
        f"- machine: {machine.describe()}",
        f"- load average: {before:.1f} before, {os.getloadavg()[0]:.1f} at the end",
        f"- {episodes:,} episodes, of which {len(ours[0][1]):,} are found; {rounds} rounds",
        "",
        "| what | median | lowest | highest | goal | met |",
        "|---|---|---|---|---|---|",
        _line("query of the table", [ms for ms, _ in ours], GOAL_MS),
        _line("loop over rows in memory", [ms for ms, _ in loop], None),
    ]
    return "\n".join(lines)


def _fits(row: dict[str, Any]) -> bool:
    return bool(row["task"] == TASKS[3] and row["score"] >= 900 and row["time_played"] > 60)


def _timed(work: Callable[[], list[dict[str, Any]]]) -> tuple[float, list[dict[str, Any]]]:
    """Milliseconds, and what was found."""
    began = time.perf_counter()
    found = work()
    return (time.perf_counter() - began) * 1e3, found


def _line(what: str, ms: list[float], goal: float | None) -> str:
    figures = " | ".join(f"{each:.1f} ms" for each in (statistics.median(ms), min(ms), max(ms)))
    met = "|" if goal is None else f"< {goal:g} ms | {'yes' if statistics.median(ms) < goal else 'NO'} |"
    return f"| {what} | {figures} | {met if goal is not None else ' | |'}"


if __name__ == "__main__":
    main()
