"""Measures this checkout against another one, for instance the last version: recording, reading, and batches.

    git worktree add ../before v0.1.0 && (cd ../before && make demo)
    python benchmarks/against.py ../before

Each checkout plays with its own players, in its own `.venv`, and reads what it recorded itself. They take turns within
a round, in reversed order in every other round, and ratios are of numbers of the same round: above 1, this checkout is
faster. Recordings are kept below --workdir.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pipelines_side import contests
from pipelines_side.inputs import Input
from side_by_side import machine, make_traces
from side_by_side.contest import MIB, QUEUE_MULTIPLE
from side_by_side.tables import row, short
from side_by_side.trace import Trace

ROOT: Final = Path(__file__).parents[1]
RECORDED: Final = (("SpaceInvaders", 32 * MIB), (make_traces.CAMERA, 8 * MIB), (make_traces.VECTORS, MIB))
"""Traces, and the memory limit of the recorder, which decides how long a run is."""
STREAMS: Final = ("in order", "blocks", "global", "windows", "drawn windows")
TFDS_STREAMS: Final = ("ours one by one", "ours dense", "ours by number")
MAKE: Final = "import sys; sys.path[:0] = sys.argv[1:3]; from pathlib import Path; from pipelines_side import inputs; \
inputs.make(inputs.Input(*sys.argv[3:5], int(sys.argv[5])), Path(sys.argv[6]))"

Figures = dict[str, float]
"""By name, all of them better if larger."""


@dataclass(frozen=True)
class Checkout:
    """One version.

    Attributes:
      root: of its files.
      python: its interpreter.
    """

    root: Path
    python: Path

    def run(self, *command: object) -> str:
        """The last line that a program prints.

        Raises:
          RuntimeError: it failed; the message has the end of its errors.
        """
        words = [str(each) for each in (self.python, *command)]
        env = {**os.environ, "PYTHONPATH": str(self.root)}
        done = subprocess.run(words, capture_output=True, text=True, env=env, check=False)
        if done.returncode:
            raise RuntimeError(f"{' '.join(words)} failed:\n{done.stderr[-2000:]}")
        return (done.stdout.strip().splitlines() or ["{}"])[-1]

    def play(self, player: str, *options: object) -> dict[str, Any]:
        """What a player of this version prints."""
        found: dict[str, Any] = json.loads(self.run(self.root / "benchmarks" / player, *options))
        return found


Work = Callable[[Checkout, Path], Figures]
"""Does something with one version, in a folder of its own."""


def recording(name: str, memory_limit: int, workdir: Path) -> Work:
    """Records a trace, and reads all of it, and its rewards."""

    def work(checkout: Checkout, folder: Path) -> Figures:
        trace = make_traces.make(name, workdir / "traces")
        rows = Trace(trace).whole_episodes(QUEUE_MULTIPLE * memory_limit // Trace(trace).row_bytes)
        out = folder / "recording"
        shutil.rmtree(out, ignore_errors=True)
        options = (trace, out, "--variant", "dm_env", "--rows", rows, "--memory-limit", memory_limit)
        player = "side_by_side/play_rlds_kit.py"
        made, read = checkout.play(player, "record", *options), checkout.play(player, "read", *options)
        shutil.rmtree(out)
        return {
            "steps recorded, per second of the caller": 1e6 / made["caller"],
            "steps recorded, per second of CPU": 1e6 / made["cpu"],
            "steps recorded, per byte": 1 / made["bytes"],
            "steps read, per second": read["scan"]["steps_per_s"],
            "rewards read, per second": read["rewards"]["steps_per_s"],
        }

    return work


def streaming(player: str, stream: str, given: Input, seconds: float) -> Work:
    """Batches of one stream."""

    def work(checkout: Checkout, folder: Path) -> Figures:
        benchmarks = checkout.root / "benchmarks"
        checkout.run("-c", MAKE, benchmarks, checkout.root, given.title, given.kind, given.steps, folder)
        found = checkout.play(player, "speed", stream, folder / given.name, "--seconds", seconds)
        return {f"{stream}, per second": found["per_second"], f"{stream}, per second of CPU": found["per_cpu_second"]}

    return work


def works(workdir: Path, seconds: float, *, quick: bool) -> Iterator[tuple[str, Work]]:
    """All that is measured, with a title."""
    for name, memory_limit in RECORDED:
        yield f"record, {name}", recording(name, memory_limit // 8 if quick else memory_limit, workdir)
    for title, kind, steps in (
        (contests.ATARI, "atari", 2_000 if quick else 20_000),
        (contests.CAMERA, "camera", 1_000 if quick else 8_000),
        (contests.VECTORS, "vectors", 20_000 if quick else 200_000),
    ):
        given = Input(title, kind, steps)
        for stream in STREAMS:
            yield f"batches, {title}", streaming("pipelines_side/play_rlds_kit.py", stream, given, seconds)
        for stream in TFDS_STREAMS:
            yield f"tf.data, {title}", streaming("tfds_side/play.py", stream, given, seconds)


def main() -> None:
    """Measures, and prints Markdown; what it is doing goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser.add_argument("other", type=Path, help="the other checkout, with its environment in .venv")
    parser.add_argument("--only", default="", help="only what has this in its title, for instance record")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each timing of batches")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--workdir", type=Path, default=cache, help=f"recordings; {cache}")
    arguments = parser.parse_args()
    other, workdir = arguments.other.resolve(), arguments.workdir.expanduser()
    pair = (Checkout(ROOT, Path(sys.executable)), Checkout(other, other / ".venv/bin/python"))
    print(f"- machine: {machine.describe()}\n- rounds: {arguments.rounds}\n")
    print(f"{row(['work', 'what', 'this', 'other', 'this over other', 'lowest', 'highest'])}\n{row(['---'] * 7)}")
    for title, work in works(workdir, arguments.seconds, quick=arguments.quick):
        if arguments.only in title:
            rounds = [_round(work, pair, workdir, number) for number in range(arguments.rounds)]
            _print(title, rounds)
    print(f"\nLoad average at the end: {os.getloadavg()[0]:.1f}.")


def _round(work: Work, pair: tuple[Checkout, Checkout], workdir: Path, number: int) -> tuple[Figures, Figures]:
    found = {}
    for which in (0, 1) if number % 2 == 0 else (1, 0):
        folder = workdir / "against" / ("this" if which == 0 else pair[which].root.name)
        folder.mkdir(parents=True, exist_ok=True)
        found[which] = work(pair[which], folder)
    return found[0], found[1]


def _print(title: str, rounds: list[tuple[Figures, Figures]]) -> None:
    for name in rounds[0][0]:
        ratios = [this[name] / other[name] for this, other in rounds]
        medians = [short(statistics.median(each[which][name] for each in rounds)) for which in (0, 1)]
        between = [short(each) for each in (statistics.median(ratios), min(ratios), max(ratios))]
        print(row([title, name, *medians, *between]), flush=True)


if __name__ == "__main__":
    main()
