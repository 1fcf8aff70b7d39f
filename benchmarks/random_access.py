"""Measures reading into memory and random access beside Lance, TorchRL and h5py on Minari's file.

    python benchmarks/random_access.py              all of it: a million steps of vectors, frames of four games
    python benchmarks/random_access.py --quick      a look at small inputs

One recording, made with rlds_kit's logger, is written as a table of Lance (lists of numbers, and frames as binary
values), as a file of Minari's layout and as a memory-mapped storage of TorchRL. Systems take turns within a round, in
reversed order in every other round; ratios are of numbers of the same round. Numbers of windows are of the second half
of them: the first half, "cold", fills caches, and is listed beside it. Files are in the page cache.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipelines_side import inputs
from pipelines_side.inputs import Input
from side_by_side import machine, page
from side_by_side.command_line import note, parser_of
from side_by_side.tables import row, short, spread
from side_by_side.venvs import LANCE, TORCHRL, PeerMissingError, python_of

HERE: Final = Path(__file__).parent
BEGIN: Final = "<!-- begin: benchmarks/random_access.py -->"
END: Final = "<!-- end: benchmarks/random_access.py -->"
OURS: Final = "rlds_kit"
SHUFFLED: Final = f'{OURS}, batches(shuffle="global")'
PEERS: Final = {"lance": LANCE, "hdf5": LANCE, "torchrl": TORCHRL}
"""The environment of each system besides ours."""


@dataclass(frozen=True)
class System:
    """One system in one contest.

    Attributes:
      name: for the table.
      player: of the system.
      options: for the player.
    """

    name: str
    player: str
    options: tuple[str, ...] = ()


@dataclass(frozen=True)
class Contest:
    """Systems that do the same work.

    Attributes:
      title: for the table.
      given: the input.
      work: the command of the player.
      systems: ours first.
      goals: by name of a peer, at least how many times its speed by CPU time, and by wall clock, is the goal.
    """

    title: str
    given: Input
    work: str
    systems: tuple[System, ...]
    goals: tuple[tuple[str, float | None, float | None], ...]


def contests(*, quick: bool) -> Iterator[Contest]:
    """All that is measured."""
    vectors = Input("17 floats", "vectors", 50_000 if quick else 1_000_000)
    frames = Input("210 x 160 x 3 Atari frames", "ale", 300 if quick else 1_500)
    small = Input("84 x 84 Atari frames", "atari", 2_000 if quick else 30_000)
    for title, fields in (("all fields into memory", "observation,action,reward"), ("rewards into memory", "reward")):
        systems = tuple(
            System(name, player, ("--fields", fields))
            for name, player in ((OURS, OURS), ("Lance", "lance"), ("h5py, Minari's file", "hdf5"))
        )
        yield Contest(title, vectors, "scan", systems, (("Lance", None, 1), ("h5py, Minari's file", None, 1)))
    for given in (vectors, frames):
        for batch in (32, 256):
            # Of frames, about an epoch of a shuffle: a thousand windows are read in a tenth of a second.
            windows = str((2_048 if quick else 16_384) if given is vectors else (1_024 if quick else 5_632))
            options = ("--batch", str(batch), "--windows", windows)
            systems = (
                System(OURS, OURS, options),
                System(f"{OURS}, cache of a quarter of the data", OURS, (*options, "--cache-share", "0.25")),
                System(SHUFFLED, OURS, (*options, "--shuffled")),
                System("Lance", "lance", options),
            )
            goals: tuple[tuple[str, float | None, float | None], ...] = (("Lance", 2, 1), (OURS, 1, None))
            if given is vectors:
                systems = (*systems, System("TorchRL, SliceSampler over a memmap", "torchrl", options))
                goals = (*goals, ("TorchRL, SliceSampler over a memmap", 0.5, None))
            yield Contest(f"random 8-step windows, batches of {batch}", given, "windows", systems, goals)
    orders = ("global", "in order", "blocks")
    systems = tuple(System(f"{OURS}, {order}", OURS, ("--order", order)) for order in orders)
    yield Contest("an epoch of transitions", small, "epoch", systems, ((f"{OURS}, in order", 1 / 3, None),))


Rounds = dict[str, list[dict[str, Any]]]


def main() -> None:
    """Measures, and prints Markdown or JSON; what it is doing goes to standard error."""
    arguments = _arguments()
    workdir = arguments.workdir.expanduser()
    results: list[tuple[Contest, Rounds]] = []
    for contest in contests(quick=arguments.quick):
        if arguments.only not in f"{contest.title}, {contest.given.title}":
            continue
        folder = prepare(contest.given, workdir)
        rounds: Rounds = {}
        for number in range(arguments.rounds):
            for system in contest.systems[:: 1 if number % 2 == 0 else -1]:
                found = _play(contest, system, folder, workdir)
                rounds.setdefault(system.name, []).append(found)
                note(f"{contest.title}, round {number + 1}: {system.name}: {short(_speed(found))}/s")
        results.append((contest, {system.name: rounds[system.name] for system in contest.systems}))
    report = _report(results, arguments.rounds)
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(json.dumps([[contest.title, rounds] for contest, rounds in results]) if arguments.json else report)


def prepare(given: Input, workdir: Path) -> Path:
    """Makes the input in all formats, unless it is there; returns its folder."""
    folder = inputs.make(given, workdir / "pipelines")
    if given.kind != "atari" and not (folder / "minari.hdf5").exists():
        _run(python_of(LANCE, workdir / "venvs"), HERE / "random_access_side" / "write.py", folder)
    return folder


def _play(contest: Contest, system: System, folder: Path, workdir: Path) -> dict[str, Any]:
    peer = PEERS.get(system.player)
    try:
        python = Path(sys.executable) if peer is None else python_of(peer, workdir / "venvs")
    except PeerMissingError as error:
        raise SystemExit(f"{system.name}: {error}") from error
    player = HERE / "random_access_side" / "play.py"
    found: dict[str, Any] = json.loads(_run(python, player, contest.work, system.player, folder, *system.options))
    return found


def _run(*command: object) -> str:
    done = subprocess.run([*map(str, command)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"{' '.join(map(str, command[1:]))} failed:\n{done.stderr[-2000:]}")
    return (done.stdout.strip().splitlines() or ["{}"])[-1]


def _speed(found: dict[str, Any], by: str = "seconds") -> float:
    return float(found["samples"] / found[by])


def _report(results: list[tuple[Contest, Rounds]], rounds: int) -> str:
    versions = sorted({one["versions"] for _, played in results for each in played.values() for one in each})
    lines = [
        f"- machine: {machine.describe()}",
        f"- python: {platform.python_version()}",
        "- versions: " + ";\n  ".join(versions),
        f"- rounds: {rounds}",
        f"- load average at the end: {os.getloadavg()[0]:.1f}",
        "",
        row(("work", "input", "against", "by", "goal", "median", "lowest", "highest", "met")),
        row(["---"] * 9),
    ]
    for contest, played in results:
        lines += _goals(contest, played)
    for contest, played in results:
        lines += ["", f"**{contest.title}**, {contest.given.title}:", ""]
        lines += [row(("system", "per CPU second", "per second", "cold, per CPU second", "MiB")), row(["---"] * 5)]
        for name, each in played.items():
            cold = spread([_speed(one["cold"], "cpu") for one in each]) if "cold" in each[0] else ""
            numbers = (spread([_speed(one, by) for one in each]) for by in ("cpu", "seconds"))
            lines.append(row([name, *numbers, cold, short(max(one["peak_mib"] for one in each))]))
    return "\n".join(lines)


def _goals(contest: Contest, played: Rounds) -> Iterator[str]:
    mine = [system.name for system in contest.systems if system.player == OURS]
    for peer, *goals in contest.goals:
        ours = [SHUFFLED] if peer == OURS else mine if contest.work != "epoch" else mine[:1]
        for by, goal in zip(("cpu", "seconds"), goals, strict=True):
            if goal is None:
                continue
            for name in ours:
                pairs = zip(played[name], played[peer], strict=True)
                ratios = [_speed(one, by) / _speed(other, by) for one, other in pairs]
                median = statistics.median(ratios)
                cells = [f"{contest.title}; {name}", contest.given.title, peer, {"cpu": "CPU", "seconds": "wall"}[by]]
                numbers = [f"{goal:.2g}x", *(f"{each:.3g}x" for each in (median, min(ratios), max(ratios)))]
                yield row([*cells, *numbers, "yes" if median >= goal else "NO"])


def _arguments() -> argparse.Namespace:
    parser = parser_of(__doc__, "inputs, which are recorded once")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--only", default="", help="only what has this in its title, for instance 210 x 160")
    parser.add_argument("--rounds", type=int, default=3)
    return parser.parse_args()


if __name__ == "__main__":
    main()
