"""Measures the studio: what it adds to a step, how soon a key is seen, and how many people play at once.

    python benchmarks/studio.py            all of it, about three minutes
    python benchmarks/studio.py --quick    a look, about one minute
    python benchmarks/studio.py --pairs    only games of two people, and people who wait for others
    python benchmarks/studio.py --collectors    only games in which four collectors count

Everything is recorded. The server, its worker and the clients share the machine; the clients speak the protocol as
lean as they can, and paint nothing.
"""

import argparse
import asyncio
import os
import platform
import resource
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script's own folder is on the path, its checkout is not

from side_by_side import machine, page
from studio_side import contests
from studio_side.contests import FPS, Choked, Held, percentile
from studio_side.counted import NAMES, agreeing
from studio_side.environments import LARGE, SMALL
from studio_side.lobbies import crowd
from studio_side.overhead import Overhead, overhead
from studio_side.processes import serving

BEGIN: Final = "<!-- begin: benchmarks/studio.py -->"
END: Final = "<!-- end: benchmarks/studio.py -->"
PAIRS_BEGIN: Final = "<!-- begin: benchmarks/studio.py --pairs -->"
PAIRS_END: Final = "<!-- end: benchmarks/studio.py --pairs -->"
COUNTED_BEGIN: Final = "<!-- begin: benchmarks/studio.py --collectors -->"
COUNTED_END: Final = "<!-- end: benchmarks/studio.py --collectors -->"
STEPS: Final = (
    ("210 x 160, Atari, one session, sixty turns a second", SMALL, 1, FPS),
    ("210 x 160, Atari, one session, step upon step", SMALL, 1, None),
    ("210 x 160, Atari, twelve sessions, sixty turns a second each", SMALL, 12, FPS),
    ("640 x 640, camera, one session, sixty turns a second", LARGE, 1, FPS),
)
"""Title, environment, sessions, and turns a second of each, half of them steps; None: as many as it takes."""
MOST_MS: Final = {SMALL: 0.2, LARGE: 1.3}
"""That a step may take more, in the median."""
SESSIONS: Final = (8, 16, 20, 24)
PAIRS: Final = (4, 8, 12, 16)
COUNTED: Final = (12, 20, 24, 28)
SOCKETS: Final = 1000
LINKS: Final = (500_000, 250_000, 100_000)
"""Bytes a second; sixty frames of 640 x 640 take a million."""


@dataclass
class Results:
    """What was measured.

    Attributes:
      overheads: of steps, by title.
      latencies: of keys, in frames.
      held: by number of sessions.
      waiting: memory for each socket in KiB, and milliseconds until all got the start.
      choked: by bytes a second.
      loads: load averages, before and after.
    """

    overheads: dict[str, Overhead]
    latencies: list[float]
    held: list[Held]
    waiting: tuple[float, float]
    choked: dict[int, Choked]
    loads: tuple[float, float]


def main() -> None:
    """Measures, and prints Markdown; what it is doing goes to standard error."""
    arguments = _arguments()
    if arguments.pairs:
        report, begin, end = _pairs(quick=arguments.quick), PAIRS_BEGIN, PAIRS_END
    elif arguments.collectors:
        report, begin, end = _counted(quick=arguments.quick), COUNTED_BEGIN, COUNTED_END
    else:
        report, begin, end = _report(_measure(quick=arguments.quick)), BEGIN, END
    if arguments.page is not None:
        page.insert(report, arguments.page, begin, end)
    print(report)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer and shorter runs")
    parser.add_argument("--pairs", action="store_true", help="only games of two people, and people who wait")
    parser.add_argument("--collectors", action="store_true", help="only games in which four collectors count")
    parser.add_argument(
        "--page", type=Path, help="also put the report into this page, for instance docs/performance.md"
    )
    return parser.parse_args()


def _measure(*, quick: bool) -> Results:
    before = os.getloadavg()[0]
    _open_many()
    rounds = 200 if quick else 600
    overheads = {}
    for title, environment, count, rate in STEPS:
        _say(f"overhead of a step: {title}")
        overheads[title] = overhead(environment, count, rounds, rate)
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
        _say("latency of keys")
        latencies = asyncio.run(contests.latency(server, 60 if quick else 300))
        held = []
        for count in SESSIONS[2:3] if quick else SESSIONS:
            _say(f"{count} sessions")
            held.append(asyncio.run(contests.sessions(server, count, 4.0 if quick else 8.0)))
        _say(f"{SOCKETS} sockets")
        waiting = asyncio.run(contests.waiting(server, SOCKETS))
        choked = {}
        for link in LINKS:
            _say(f"a link of {link:,} bytes a second")
            choked[link] = asyncio.run(contests.choked(server, link, 4.0 if quick else 10.0))
    return Results(overheads, latencies, held, waiting, choked, (before, os.getloadavg()[0]))


def _open_many() -> None:
    """Allows as many sockets as there may be."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def _pairs(*, quick: bool) -> str:
    """How many games of two people each are played at once, and how many people wait for others."""
    _open_many()
    before, held = os.getloadavg()[0], []
    for count in PAIRS[2:3] if quick else PAIRS:
        _say(f"{count} sessions of two people")
        with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as server:
            held.append(asyncio.run(contests.sessions(server, count, 4.0 if quick else 8.0, contests.PAIR)))
    _say(f"{SOCKETS} people in a lobby")
    with tempfile.TemporaryDirectory() as folder:
        waiting = asyncio.run(crowd(Path(folder), SOCKETS))
    most = max((each.sessions for each in held if each.is_held), default=0)
    goal = (
        f"| sessions of two people at 60 steps a second, recorded | >= 12 | {most} | {'yes' if most >= 12 else 'NO'} |"
    )
    lobby = (
        f"| people in a lobby without a worker | >= 1,000 | {waiting.people:,}, {waiting.memory:.0f} KiB each, "
        f"{waiting.workers} processes | {'yes' if waiting.workers == 0 else 'NO'} |"
    )
    head = ["| what | goal | measured | met |", "|---|---|---|---|", goal, lobby, ""]
    came = f"{waiting.seconds:.1f} s after the first of the {waiting.people:,} people came, the last knew of all."
    return "\n".join([*_machine((before, os.getloadavg()[0])), *head, *_session_table(held), "", came])


def _counted(*, quick: bool) -> str:
    """How many games are played at once in which collectors count, and whether the recordings say the same."""
    _open_many()
    before, held, same = os.getloadavg()[0], [], 0
    for count in COUNTED[2:3] if quick else COUNTED:
        _say(f"{count} sessions with collectors")
        with tempfile.TemporaryDirectory() as folder:
            with serving(Path(folder)) as server:
                held.append(asyncio.run(contests.sessions(server, count, 4.0 if quick else 8.0, contests.COUNTED)))
            same += agreeing(Path(folder))
    most, played = max((each.sessions for each in held if each.is_held), default=0), sum(each.sessions for each in held)
    is_met, are_same = "yes" if most >= 24 else "NO", "yes" if same == played else "NO"
    what = f"sessions at 60 steps a second, recorded, with the collectors {', '.join(NAMES)}"
    head = ["| what | goal | measured | met |", "|---|---|---|---|", f"| {what} | >= 24 | {most} | {is_met} |"]
    agreed = f"| sessions whose values are those of the recording | all | {same} of {played} | {are_same} |"
    rows = [*head, agreed, ""]
    return "\n".join([*_machine((before, os.getloadavg()[0])), *rows, *_session_table(held)])


def _machine(loads: tuple[float, float]) -> list[str]:
    return [
        f"- machine: {machine.describe()}",
        f"- python: {platform.python_version()}",
        f"- load average: {loads[0]:.1f} before, {loads[1]:.1f} at the end",
        "",
    ]


def _report(results: Results) -> str:
    parts = [
        *_machine(results.loads),
        *_goals(results),
        "",
        *_overheads(results),
        "",
        *_sessions(results),
        "",
        *_links(results),
    ]
    return "\n".join(parts)


def _goals(results: Results) -> list[str]:
    median, late = percentile(results.latencies, 50), percentile(results.latencies, 95)
    most = max((each.sessions for each in results.held if each.is_held), default=0)
    worst = max(each.ages[1] / each.bound for each in results.choked.values())
    rows = [
        *(_step_goal(title, environment, results) for title, environment, _, _ in STEPS),
        ("key to frame, median", "<= 1 frame", f"{median:.2f} frames", median <= 1),
        ("key to frame, 95th percentile", "<= 2 frames", f"{late:.2f} frames", late <= 2),
        ("sessions of ALE at 60 steps a second, recorded", ">= 20", f"{most}", most >= 20),
        ("waiting sockets", ">= 1,000", f"{SOCKETS:,}, {results.waiting[0]:.0f} KiB each", True),
        ("age of frames through slow links, of four frames' time", "bounded", f"at most {worst:.0%}", worst < 1.5),
    ]
    lines = ["| what | goal | measured | met |", "|---|---|---|---|"]
    return lines + [f"| {what} | {goal} | {value} | {'yes' if met else 'NO'} |" for what, goal, value, met in rows]


def _step_goal(title: str, environment: str, results: Results) -> tuple[str, str, str, bool]:
    most, median = MOST_MS[environment], percentile(results.overheads[title].milliseconds, 50)
    return f"step, recorded and shown, {title}, median", f"<= {most:g} ms", f"{median:.3f} ms", median <= most


def _overheads(results: Results) -> list[str]:
    lines = [
        "| step, ms more than the environment's own | median | p95 | p99 | bytes of a picture |",
        "|---|---|---|---|---|",
    ]
    for title, each in results.overheads.items():
        percents = " | ".join(f"{percentile(each.milliseconds, percent):.3f}" for percent in (50, 95, 99))
        lines.append(f"| {title} | {percents} | {each.picture:,} |")
    return lines


def _sessions(results: Results) -> list[str]:
    reached = f"{SOCKETS:,} waiting sockets: {results.waiting[1]:.0f} ms until the last got the start of its game."
    return [*_session_table(results.held), "", reached]


def _session_table(held: list[Held]) -> list[str]:
    columns = ("sessions", "steps/s, slowest", "median", "frames/s, slowest", "median", "age of a frame, median", "p99")
    head = " | ".join((*columns, "cores: server", "workers"))
    lines = [f"| {head} |", "|---|---|---|---|---|---|---|---|---|"]
    for each in held:
        rates = f"{each.steps[0]:.1f} | {each.steps[1]:.1f} | {each.frames[0]:.1f} | {each.frames[1]:.1f}"
        ages = f"{each.ages[0]:.1f} ms | {each.ages[1]:.1f} ms"
        lines.append(f"| {each.sessions} | {rates} | {ages} | {each.cpu[0]:.2f} | {each.cpu[1]:.2f} |")
    return lines


def _links(results: Results) -> list[str]:
    lines = ["| link | frames that came | age, median | most | four frames take |", "|---|---|---|---|---|"]
    for link, each in results.choked.items():
        ages = f"{each.ages[0]:.0f} ms | {each.ages[1]:.0f} ms | {each.bound:.0f} ms"
        lines.append(f"| {link / 1e6:g} MB/s | {each.share:.0%} | {ages} |")
    return lines


def _say(text: str) -> None:
    print(time.strftime("%H:%M:%S"), text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
