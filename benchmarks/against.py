"""Measures this checkout against another one, for instance the last version: all that the page of performance has.

    git worktree add ../before v0.1.0 && (cd ../before && make demo)
    python benchmarks/against.py ../before
    python benchmarks/against.py ../before --only convert --rounds 3

Each checkout plays with its own players, in its own `.venv`, and reads what it recorded itself. They take turns within
a round, in reversed order in every other round, and ratios are of numbers of the same round: above 1, this checkout is
faster. Recordings and results are kept below --workdir: what --only leaves out is reported as it was measured before.
"""

import argparse
import json
import os
import runpy
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import many_episodes
from pipelines_side import contests
from pipelines_side.inputs import Input
from side_by_side import machine, make_traces, page
from side_by_side.contest import MIB, QUEUE_MULTIPLE
from side_by_side.tables import row, short
from side_by_side.trace import Trace

ROOT: Final = Path(__file__).parents[1]
RECORDED: Final = (("SpaceInvaders", 32 * MIB), (make_traces.CAMERA, 8 * MIB), (make_traces.VECTORS, MIB))
"""Traces, and the memory limit of the recorder, which decides how long a run is."""
STREAMS: Final = ("in order", "blocks", "global", "windows", "drawn windows")
TFDS_STREAMS: Final = ("ours one by one", "ours dense", "ours by number")
CONVERSIONS: Final = (
    ("tfds tfrecord", "tfds", "rlds_kit", "tfrecord-zlib"),
    ("arrays", "arrays", "rlds_kit", "d4rl.hdf5"),
    ("minari", "minari", "rlds_kit", "as-minari-v0/data"),
    ("lerobot", "lerobot", "rlds_kit", "as-lerobot-v0"),
    ("envlogger", "envlogger", "rlds_kit", "as-envlogger-v0"),
    ("to minari", "rlds_kit", "minari", "recording"),
)
"""Titles, formats from and to, and files below the folder of the input."""
MANY: Final = {
    "open, len(episodes)": "open, len(episodes): s",
    "first batch": "open, first batch of transitions, in order: s",
    "first batch, shuffled": "open, first batch of transitions, shuffled: s",
    "builder_from_directory": "builder_from_directory: s",
}
"""Tasks of benchmarks/many_episodes.py, whose figures are seconds."""
BEGIN: Final = "<!-- begin: benchmarks/against.py -->"
END: Final = "<!-- end: benchmarks/against.py -->"
MAKE: Final = "import sys; sys.path[:0] = sys.argv[1:3]; from pathlib import Path; from pipelines_side import inputs; \
inputs.make(inputs.Input(*sys.argv[3:5], int(sys.argv[5])), Path(sys.argv[6]))"

Figures = dict[str, float]
"""By name, all of them better if larger."""
Results = dict[str, list[tuple[float, float]]]
"""By work and name: this checkout's figure and the other's, of each round."""


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
        env = {**os.environ, "PYTHONPATH": str(self.root)}  # and the folder, where a server of processes imports
        done = subprocess.run(
            words, capture_output=True, text=True, env=env, cwd=self.root, check=False
        )  # a child's too
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


def converting(given: Input, workdir: Path, source: str, target: str, files: str) -> Work:
    """Converts one dataset, which this checkout has made, with one worker."""
    prepare = runpy.run_path(str(ROOT / "benchmarks/convert.py"))["prepare"]

    def work(checkout: Checkout, folder: Path) -> Figures:
        del folder
        path = prepare(given, workdir / "pipelines") / files
        player = ROOT / "benchmarks/convert_side/play.py"
        options = ("--source", source, "--to", target, "--root", checkout.root)
        found = json.loads(checkout.run(player, "convert", path, *options))
        return {
            "steps, per second": found["steps"] / found["seconds"],
            "steps, per second of CPU": found["steps"] / found["cpu_s"],
        }

    return work


def opening(episodes: int) -> Work:
    """Opens very many short episodes, each time in a new process."""

    def work(checkout: Checkout, folder: Path) -> Figures:
        recorded, player = folder / f"many-{episodes}", ROOT / "benchmarks/many_episodes.py"
        if not recorded.exists():
            partial = recorded.with_suffix(".partial")
            checkout.run(player, "--task", "record", "--folder", partial, "--episodes", episodes)
            partial.rename(recorded)
        seconds = {
            name: float(checkout.run(player, "--task", task, "--folder", recorded)) for name, task in MANY.items()
        }
        return {f"{name}, per second": 1 / each for name, each in seconds.items()}

    assert set(MANY.values()) <= set(many_episodes.TASKS)  # noqa: S101  names of the other script
    return work


def playing(size: str, sessions: int, turns: int) -> Work:
    """Plays in the studio: what it adds to a step in its worker."""

    def work(checkout: Checkout, folder: Path) -> Figures:
        del folder
        player = ROOT / "benchmarks/studio_side/play.py"
        found = checkout.run(player, checkout.root, size, sessions, turns)
        return {"steps, per millisecond that the studio adds": 1 / float(found)}

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
    for title, kind, steps in (
        ("210 x 160 x 3 Atari frames", "ale", 100 if quick else 600),
        (contests.VECTORS, "vectors", 5_000 if quick else 20_000),
    ):
        for name, *way in CONVERSIONS:
            yield f"convert {name}, {title}", converting(Input(title, kind, steps), workdir, *way)
    yield "many episodes", opening(10_000 if quick else 100_000)
    for size, title in (("small", "210 x 160"), ("large", "640 x 640")):
        for sessions in (1,) if quick else (1, 12):
            yield f"studio, {title}, sessions: {sessions}", playing(size, sessions, 100 if quick else 300)


def main() -> None:
    """Measures, and prints Markdown; what it is doing goes to standard error."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    cache = Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")) / "rlds_kit-benchmarks"
    parser.add_argument("other", type=Path, help="the other checkout, with its environment in .venv")
    parser.add_argument("--only", default="", help="only what has this in its title, for instance record")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2, help="of each timing of batches")
    parser.add_argument("--quick", action="store_true", help="small inputs")
    parser.add_argument("--workdir", type=Path, default=cache, help=f"recordings and results; {cache}")
    parser.add_argument("--page", type=Path, help="also put all results into this page, such as docs/performance.md")
    arguments = parser.parse_args()
    other, workdir = arguments.other.resolve(), arguments.workdir.expanduser().resolve()
    pair = (Checkout(ROOT, Path(sys.executable)), Checkout(other, other / ".venv/bin/python"))
    stored = workdir / "against" / f"results-{other.name}.json"
    results: Results = json.loads(stored.read_text()) if stored.exists() else {}
    for title, work in works(workdir, arguments.seconds, quick=arguments.quick):
        if arguments.only in title:
            rounds = [_round(work, pair, workdir, number) for number in range(arguments.rounds)]
            for name in rounds[0][0]:
                results[f"{title}: {name}"] = [(this[name], before[name]) for this, before in rounds]
                print(_row(f"{title}: {name}", results), file=sys.stderr, flush=True)
            stored.write_text(json.dumps(results))
    if arguments.page is not None:
        page.insert(_report(results), arguments.page, BEGIN, END)
    print(_report(results))


def _round(work: Work, pair: tuple[Checkout, Checkout], workdir: Path, number: int) -> tuple[Figures, Figures]:
    found = {}
    for which in (0, 1) if number % 2 == 0 else (1, 0):
        folder = workdir / "against" / ("this" if which == 0 else pair[which].root.name)
        folder.mkdir(parents=True, exist_ok=True)
        found[which] = work(pair[which], folder)
    return found[0], found[1]


def _report(results: Results) -> str:
    head = ["what", "this", "other", "this over other", "lowest", "highest", "rounds"]
    rows = [_row(name, results) for name in results]
    return "\n".join([f"- machine: {machine.describe()}", "", row(head), row(["---"] * len(head)), *rows])


def _row(name: str, results: Results) -> str:
    pairs = results[name]
    ratios = [this / other for this, other in pairs]
    medians = [short(statistics.median(each)) for each in zip(*pairs, strict=True)]
    between = [short(each) for each in (statistics.median(ratios), min(ratios), max(ratios))]
    return row([name, *medians, *between, str(len(pairs))])


if __name__ == "__main__":
    main()
