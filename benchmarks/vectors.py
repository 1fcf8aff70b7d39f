"""Measures the recording of environments that step together: 17 float64 observations, 6 float32 actions.

    python benchmarks/vectors.py
    python benchmarks/vectors.py --against ../rlds_kit-before    # in turn with another checkout that has a .venv

All systems get the same arrays from an environment that does nothing else, in turn, each in a new process. *Caller* is
the CPU time that recording takes in the thread of the caller; *steps/s* and *CPU* include everything until the files
are closed. Ratios are of numbers of the same round.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from side_by_side import machine, page
from side_by_side.tables import row, short, spread
from side_by_side.venvs import CPPRB, MINARI, TORCHRL, PeerMissingError, python_of

ROOT: Final = Path(__file__).parents[1]
PLAYER: Final = Path(__file__).parent / "vectors_side" / "play.py"
BEGIN: Final = "<!-- begin: benchmarks/vectors.py -->"
END: Final = "<!-- end: benchmarks/vectors.py -->"
COLUMNS: Final = {
    "steps/s": "steps_per_s",
    "caller us/step": "caller_us",
    "CPU us/step": "cpu_us",
    "bytes/step": "bytes",
}
OURS: Final = "VectorLogger"
Rounds = dict[str, list[dict[str, float]]]


def main() -> None:
    """Measures, and prints Markdown; what it is doing goes to standard error."""
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--workdir", type=Path, default=cache, help=f"for the peers' environments; {cache}")
    parser.add_argument("--environments", type=int, nargs="+", default=[8, 64, 512])
    parser.add_argument("--steps", type=int, default=1_000_000, help="of all environments together")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--against", type=Path, help="another checkout, with its environment in .venv")
    parser.add_argument("--only", nargs="+", help="systems to measure; all if not given")
    parser.add_argument("--page", type=Path, help="also put the report into this page")
    arguments = parser.parse_args()
    systems, missing = _systems(arguments.against, arguments.workdir.expanduser())
    if arguments.only:
        systems = {name: each for name, each in systems.items() if name in arguments.only}
    lines = [f"- machine: {machine.describe()}", f"- rounds: {arguments.rounds}, of {arguments.steps:,} steps"]
    lines += [f"- {name} is left out: {why}" for name, why in missing.items()]
    for environments in arguments.environments:
        found: Rounds = {name: [] for name in systems}
        for number in range(arguments.rounds):
            for name in list(systems)[:: 1 if number % 2 == 0 else -1]:
                found[name].append(_play(*systems[name], environments, arguments.steps))
                print(f"{environments} environments: {name}: {found[name][-1]}", file=sys.stderr, flush=True)
        lines += _report(environments, found)
    report = "\n".join([*lines, "", f"Load average at the end: {os.getloadavg()[0]:.1f}."])
    if arguments.page is not None:
        page.insert(report, arguments.page, BEGIN, END)
    print(report)


def _systems(against: Path | None, workdir: Path) -> tuple[dict[str, tuple[Path, str, Path]], dict[str, str]]:
    """The interpreter, the player's name of a system, and its package, by name; and what is missing."""
    python = Path(sys.executable)
    systems = {
        OURS: (python, "vector_logger", ROOT),
        "BatchWriter": (python, "batch_writer", ROOT),
        "zstd level 1, one thread": (python, "zstd", ROOT),
        "np.save": (python, "np_save", ROOT),
    }
    if against is not None:
        systems[f"VectorLogger of {against.name}"] = (against / ".venv/bin/python", "vector_logger", against.resolve())
    missing = {}
    for title, peer in {"TorchRL LazyMemmapStorage": TORCHRL, "cpprb": CPPRB, "Minari, one at a time": MINARI}.items():
        try:
            systems[title] = (python_of(peer, workdir / "venvs"), peer.name, ROOT)
        except PeerMissingError as error:
            missing[title] = str(error)
    return systems, missing


def _play(python: Path, name: str, package: Path, environments: int, steps: int) -> dict[str, float]:
    folder = tempfile.mkdtemp(prefix="rlds_kit-vectors-")
    command = [python, PLAYER, name, folder, environments, max(1, steps // environments)]
    env = {**os.environ, "PYTHONPATH": str(package)}
    try:
        done = subprocess.run(list(map(str, command)), env=env, check=True, stdout=subprocess.PIPE, text=True)
    finally:
        shutil.rmtree(folder)
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def _report(environments: int, found: Rounds) -> Iterator[str]:
    yield from ("", f"**{environments} environments**", "")
    yield row(["system", *COLUMNS, f"speed of {OURS}, times"])
    yield row(["---"] * (len(COLUMNS) + 2))
    for name, rounds in found.items():
        cells = [spread([each[key] for each in rounds]) for key in COLUMNS.values()]
        ratios = [a["steps_per_s"] / b["steps_per_s"] for a, b in zip(found.get(OURS, rounds), rounds, strict=True)]
        between = f"{short(statistics.median(ratios))} ({short(min(ratios))} to {short(max(ratios))})"
        yield row([name, *cells, between])


if __name__ == "__main__":
    main()
