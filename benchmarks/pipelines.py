"""Measures training pipelines against rlds, TFDS and Minari, side by side, and checks which promises hold.

    python benchmarks/pipelines.py                      all of it, about an hour
    python benchmarks/pipelines.py --quick              a look at small inputs, about a quarter of an hour
    python benchmarks/pipelines.py --rows transitions bytes
    python benchmarks/pipelines.py --profile            where batches spend their time

One recording, made with rlds_kit's logger, is written in the formats of all peers, and each delivers the same elements:
that is checked before numbers are compared. Systems take turns within a round, so that a busy machine is as bad for one
as for the other, and ratios are of numbers of the same round. Inputs are kept below --workdir.
"""

import argparse
import json
import os
import platform
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from pipelines_side import goals, plot
from pipelines_side.contests import Contest, contests
from pipelines_side.runner import Runner
from pipelines_side.where_time_goes import profile
from side_by_side import machine, page
from side_by_side.command_line import note, parser_of
from side_by_side.venvs import PeerMissingError, python_of

BEGIN: Final = "<!-- begin: benchmarks/pipelines.py -->"
END: Final = "<!-- end: benchmarks/pipelines.py -->"
PICTURE: Final = Path(__file__).parents[1] / "docs" / "images" / "performance_memory.png"
ROWS: Final = tuple(dict.fromkeys(contest.row for contest in contests(quick=False)))
ONE_ROUND: Final = ("bytes", "memory")
"""Rows that are measured once: bytes do not vary, and an epoch takes long."""
MIXING: Final = """\
Mixing: *travel* is how far transitions come from where they were in the recording, on average, and *spread* how many
episodes have a part in a batch; both as shares of what an exact random permutation has, which is 1. In the order of the
recording travel is 0. TFDS reads eight files in turn, so its transitions travel even where nothing is shuffled."""

Results = dict[str, dict[str, list[dict[str, Any]]]]


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    workdir: Path = arguments.workdir.expanduser()
    chosen = [
        one for one in contests(quick=arguments.quick) if one.row in arguments.rows and arguments.only in one.title
    ]
    if arguments.profile:
        profile(next(one for one in contests(quick=arguments.quick) if one.row == "transitions"), workdir / "pipelines")
        return
    pythons, missing = _peers(chosen, workdir / "venvs")
    runner = Runner(workdir / "pipelines", pythons, arguments.seconds or (1 if arguments.quick else 3))
    rounds = arguments.rounds or (2 if arguments.quick else 5)
    results: Results = {}
    loads: list[float] = []
    for contest in chosen:
        results[contest.title] = _play(runner, contest, 1 if contest.row in ONE_ROUND else rounds, loads)
    if any(contest.row == "memory" for contest in chosen):
        plot.memory({one.title: results[one.title] for one in chosen if one.row == "memory"}, arguments.picture)
    about = _about(results, loads, rounds)
    report = _report(about, chosen, results, missing)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps({"about": about, "results": results}) if arguments.json else report)


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "inputs, which are recorded once, and virtual environments")
    parser.add_argument("--quick", action="store_true", help="small inputs, short runs, two rounds")
    parser.add_argument("--profile", action="store_true", help="print where batches spend their time, and stop")
    parser.add_argument("--rows", nargs="+", choices=ROWS, default=ROWS, help="of the promises; all if not given")
    parser.add_argument("--only", default="", help="only inputs whose title has this in it, for instance camera")
    parser.add_argument("--rounds", type=int, default=0, help="5, or 2 with --quick, if not given")
    parser.add_argument("--seconds", type=float, default=0, help="of each timing; 3, or 1 with --quick, if not given")
    parser.add_argument("--picture", type=Path, default=PICTURE, help="where to draw memory")
    return parser.parse_args()


def _peers(chosen: list[Contest], folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """The interpreters of the peers that can run, and why the others cannot."""
    pythons, missing = {}, {}
    for peer in {system.peer for contest in chosen for system in contest.systems if system.peer is not None}:
        try:
            pythons[peer.name] = python_of(peer, folder)
        except PeerMissingError as error:
            missing[peer.name] = str(error)
            note(f"{peer.name} is left out: {error}")
    return pythons, missing


def _play(runner: Runner, contest: Contest, rounds: int, loads: list[float]) -> dict[str, list[dict[str, Any]]]:
    """All rounds; systems in the order of the contest."""
    note(f"{contest.title}: preparing")
    folder = runner.prepare(contest)
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for number in range(rounds):
        loads.append(os.getloadavg()[0])
        for name, result in runner.round(contest, folder, number):
            shown = {key: value for key, value in result.items() if key not in ("samples", "versions")}
            note(f"{contest.title}, round {number + 1} of {rounds}: {name} {shown}")
            found[name].append(result)
    return {system.name: found[system.name] for system in runner.systems(contest)}


def _about(results: Results, loads: list[float], rounds: int) -> dict[str, Any]:
    measured = [result for systems in results.values() for one in systems.values() for result in one]
    return {
        "machine": machine.describe(),
        "python": platform.python_version(),
        "versions": sorted({result["versions"] for result in measured if "versions" in result}),
        "rounds": rounds,
        "load average": f"{min(loads):.1f} to {max(loads):.1f}",
        "threads": f"rlds_kit {min(4, os.cpu_count() or 1)} (its default); TensorFlow its defaults, AUTOTUNE where the "
        "pipeline has it",
    }


def _report(about: dict[str, Any], played: list[Contest], results: Results, missing: dict[str, str]) -> str:
    words = {key: ";\n  ".join(item) if isinstance(item, list) else item for key, item in about.items()}
    parts = [f"- {key}: {item}" for key, item in words.items()]
    parts += ["", *goals.promises(results, played)]
    if any(contest.row == "transitions" for contest in played):
        parts += ["", MIXING]
    for contest in played:
        left_out = {
            system.name: missing[system.peer.name]
            for system in contest.systems
            if system.peer is not None and system.peer.name in missing
        }
        parts += ["", f"**{contest.title}**:", "", *goals.measurements(contest, results[contest.title], left_out)]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
