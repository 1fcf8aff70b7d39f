"""Measures recording and reading against EnvLogger, Minari and TFDS, side by side, and checks which promises hold.

    python benchmarks/record.py            all of it, about a quarter of an hour
    python benchmarks/record.py --quick    a look, about two minutes

Every system plays the same pre-recorded traces through a null environment, whose own time is subtracted. Peers live in
their own virtual environments, made on first use below --workdir. Systems take turns within a round, so that a busy
machine is as bad for one as for the other, and ratios are of numbers of the same round.
"""

import argparse
import json
import os
import platform
from collections import defaultdict
from pathlib import Path
from typing import Any, Final

from side_by_side import machine, page, tables
from side_by_side.command_line import note, parser_of
from side_by_side.contest import Contest, Runner, contests
from side_by_side.venvs import PeerMissingError, python_of
from side_by_side.where_time_goes import profile

BEGIN: Final = "<!-- begin: benchmarks/record.py -->"
END: Final = "<!-- end: benchmarks/record.py -->"


NEXT_LINE = ";\n  "
"""Between the versions of one environment and the next."""


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    workdir: Path = arguments.workdir.expanduser()
    chosen = [one for one in contests(quick=arguments.quick) if arguments.only in one.title]
    if arguments.profile:
        profile(workdir)
        return
    pythons, missing = _peers(chosen, workdir / "venvs")
    runner = Runner(workdir, pythons)
    results: dict[str, dict[str, list[dict[str, Any]]]] = {}
    loads = []
    repeats = arguments.repeats or (2 if arguments.quick else 5)
    for contest in chosen:
        ours: dict[str, list[dict[str, Any]]] = defaultdict(list)
        for number in range(repeats):
            loads.append(os.getloadavg()[0])
            for name, result in runner.round(contest, number):
                note(f"{contest.title}, round {number + 1} of {repeats}: {name} {result['caller']:.0f} us/step")
                ours[name].append(result)
        order = [system.name for system in contest.systems if system.name in ours]
        results[contest.title] = {name: ours[name] for name in order}
    about = _about(results, loads, repeats)
    left_out = {
        contest.title: {
            system.name: missing[system.peer.name]
            for system in contest.systems
            if system.peer is not None and system.peer.name in missing
        }
        for contest in chosen
    }
    report = _report(about, results, left_out)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps({"about": about, "results": results}) if arguments.json else report)


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "virtual environments and traces")
    parser.add_argument("--quick", action="store_true", help="fewer inputs, short runs, two rounds")
    parser.add_argument("--repeats", type=int, default=0, help="rounds; 5, or 2 with --quick, if not given")
    parser.add_argument("--only", default="", help="only inputs whose title has this in it, for instance camera")
    parser.add_argument("--profile", action="store_true", help="print where the recorder spends its time, and stop")
    return parser.parse_args()


def _peers(chosen: list[Contest], folder: Path) -> tuple[dict[str, Path], dict[str, str]]:
    """The interpreters of the peers that can run, and why the others cannot."""
    pythons, missing = {}, {}
    for peer in {system.peer for contest in chosen for system in contest.systems if system.peer is not None}:
        note(f"virtual environment of {peer.name} in {folder / peer.name}")
        try:
            pythons[peer.name] = python_of(peer, folder)
        except PeerMissingError as error:
            missing[peer.name] = str(error)
            note(f"{peer.name} is left out: {error}")
    return pythons, missing


def _about(results: tables.Results, loads: list[float], repeats: int) -> dict[str, Any]:
    rounds = [result for systems in results.values() for measured in systems.values() for result in measured]
    return {
        "machine": machine.describe(),
        "python": platform.python_version(),
        "versions": sorted({result["versions"] for result in rounds}),
        "rounds": repeats,
        "load average": f"{min(loads):.1f} to {max(loads):.1f}",
        "rows": {title: next(iter(systems.values()))[0]["rows"] for title, systems in results.items() if systems},
    }


def _report(about: dict[str, Any], results: tables.Results, left_out: dict[str, dict[str, str]]) -> str:
    parts = [f"- {key}: {NEXT_LINE.join(item) if isinstance(item, list) else item}" for key, item in about.items()]
    parts.pop()  # rows stand with their tables
    parts += ["", *tables.goals(results)]
    for title, systems in results.items():
        parts += [
            "",
            f"**{title}**, {about['rows'].get(title, 0):,} steps:",
            "",
            *tables.measurements(systems, left_out.get(title, {})),
        ]
    return "\n".join(parts)


if __name__ == "__main__":
    main()
