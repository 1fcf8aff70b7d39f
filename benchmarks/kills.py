"""Kills recording processes with SIGKILL, as often as you like, and prints what they left behind.

    python benchmarks/kills.py --kills 500

The same code as `tests/storage/test_kill.py`: a third of the kills each for one environment, for a vector of eight, and
for one of two processes in one directory. Exit code 1 if a single durable step was lost or wrong.
"""

import argparse
import sys
import tempfile
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1]))  # a script's own folder is on the path, its checkout is not

from tests.storage.killing import Tally, kill_one, kill_one_of_two

KINDS: Final = ("one environment", "vector of eight", "one of two processes")


def main() -> int:
    """Kills, checks, prints; returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=500, help="how many processes to kill (500)")
    parser.add_argument("--jobs", type=int, default=2, help="how many to kill at once (2)")
    parser.add_argument("--seed", type=int, default=1, help="of the moments and of the values that are recorded (1)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        failures = sum(_run(kind, _scenarios(kind, Path(folder), arguments), arguments.jobs) for kind in KINDS)
    print(f"{failures} failures in {arguments.kills} kills")
    return 1 if failures else 0


def _scenarios(kind: str, folder: Path, arguments: argparse.Namespace) -> list[Callable[[], Tally]]:
    first = arguments.seed * 10_000
    seeds = range(first + KINDS.index(kind), first + arguments.kills, len(KINDS))
    if kind == "one of two processes":
        return [partial(kill_one_of_two, folder / str(seed), seed) for seed in seeds]
    return [partial(kill_one, folder / str(seed), seed, 1 if kind == "one environment" else 8) for seed in seeds]


def _run(kind: str, kills: list[Callable[[], Tally]], jobs: int) -> int:
    """Runs the kills of a kind, prints a line about them, and returns how many failed."""
    total, failures = Tally(), 0
    with ThreadPoolExecutor(jobs) as pool:
        for future in [pool.submit(kill) for kill in kills]:
            try:
                total.add(future.result())
            except Exception:  # noqa: BLE001  a failure is counted and shown, and the kills go on
                failures += 1
                traceback.print_exc()
    print(
        f"{kind:22} {total.kills:5} kills  {total.durable_rows:8} durable rows, all there  {total.rows_read:8} rows"
        f" read  {total.whole:6} whole episodes  {total.cut:5} cut"
    )
    return failures


if __name__ == "__main__":
    sys.exit(main())
