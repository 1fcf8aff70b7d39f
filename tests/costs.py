"""Counts what core operations cost, in numbers that do not depend on the machine.

`python -m tests.costs` prints the table of docs/performance.md, `--update` writes it there. Calls are of Python and
C functions in all threads; reads and bytes are those of the process as Linux counts them; memory is the peak of what
Python and NumPy allocate.
"""

import argparse
import gc
import itertools
import sys
import tempfile
import threading
import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from types import FrameType
from typing import Any, Final

import numpy as np

import rlds_kit
from rlds_kit import EpisodeEnd, logger
from rlds_kit import spec as specs
from rlds_kit.convert import convert
from rlds_kit.storage.policy import FlushPolicy
from rlds_kit.storage.recorder import Recorder

PAGE: Final = Path(__file__).parents[1] / "docs" / "performance.md"
BEGIN: Final = "<!-- begin: tests/costs.py -->"
END: Final = "<!-- end: tests/costs.py -->"
IO: Final = Path("/proc/self/io")
LENGTH: Final = 200
EPISODES: Final = 20
MANUAL: Final = FlushPolicy.manual()
VECTOR: Final = specs.Dict(
    {
        "observation": specs.Array((17,), np.float64),
        "action": specs.Array((6,), np.float32),
        "reward": specs.Array((), np.float64),
    }
)
SHORT: Final = specs.Dict(
    {
        "observation": specs.Array((4,), np.float32),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)
FRAME: Final = specs.Dict(
    {
        "observation": specs.Array((210, 160, 3), np.uint8),
        "action": specs.Array((), np.int64),
        "reward": specs.Array((), np.float64),
    }
)


@dataclass(frozen=True)
class Cost:
    """Of one operation.

    Attributes:
      calls: of functions, in all threads.
      reads: system calls that read.
      bytes_read: by them.
      writes: system calls that write.
      bytes_written: by them.
      peak_bytes: of memory that was allocated at the same time.
    """

    calls: float
    reads: float
    bytes_read: float
    writes: float
    bytes_written: float
    peak_bytes: float


def measure(operation: Callable[[], int]) -> Cost:
    """The cost of one unit of an operation, which returns how many it did. It is called once before, to fill caches."""
    operation()
    gc.collect()
    before = _io()
    count = operation()
    io = [after - earlier for after, earlier in zip(_io(), before, strict=True)]
    calls = _calls(operation)
    gc.collect()
    tracemalloc.start()
    operation()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    reads, bytes_read, writes, bytes_written = (each / count for each in io)
    return Cost(calls / count, reads, bytes_read, writes, bytes_written, peak / count)


def _io() -> tuple[int, int, int, int]:
    found = dict(line.split(": ") for line in IO.read_text().splitlines())
    return int(found["syscr"]), int(found["rchar"]), int(found["syscw"]), int(found["wchar"])


def _calls(operation: Callable[[], int]) -> int:
    counter = itertools.count()

    def count(_: FrameType, event: str, __: Any) -> None:
        if event in ("call", "c_call"):
            next(counter)

    threading.setprofile(count)
    sys.setprofile(count)
    try:
        operation()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return next(counter)


def operations(folder: Path) -> Iterator[tuple[str, Callable[[], int]]]:
    """The operations by name; those that read use a recording below `folder`."""
    directories = (folder / str(number) for number in itertools.count())
    rng = np.random.default_rng(0)
    frame = rng.integers(0, 4, (210, 160, 3), np.uint8)
    vectors = rng.normal(size=(LENGTH + 1, 512, 17))
    actions = rng.normal(size=(512, 6)).astype(np.float32)
    flags = np.zeros(512, np.bool_)

    def append(spec: specs.Dict, observation: Callable[[int], Any], action: Any, rows: int) -> int:
        with Recorder(next(directories), spec, policy=MANUAL) as recorder:
            episode = recorder.start_episode()
            for row in range(rows):
                acted = {"action": action, "reward": row / 7} if row else None
                episode.append({"observation": observation(row)}, acted)
            episode.end(EpisodeEnd.TRUNCATED)
        return rows

    def append_batch() -> int:
        with logger.BatchWriter(next(directories), 512, autoreset="SameStep", spec=VECTOR, policy=MANUAL) as writer:
            writer.start(vectors[0])
            for row in range(1, LENGTH):
                writer.step(vectors[row], actions, vectors[row, :, 0], flags, flags)
        return LENGTH

    def record_short(*, has_statistics: bool) -> int:
        """Episodes of 40 steps of 64 environments, which end at different times."""
        count, rows, steps = 64, 40, 400
        ends = (np.arange(steps)[:, None] + np.arange(count)) % (rows + 1) == rows
        observations = rng.normal(size=(steps, count, 4)).astype(np.float32)
        chosen = rng.integers(0, 2, (steps, count))
        with logger.BatchWriter(next(directories), count, autoreset="NextStep", spec=SHORT, policy=MANUAL) as writer:
            writer.start(observations[0], seeds=[*range(count)])
            for row in range(1, steps):
                ended = ends[row]
                length = {"l": np.where(ended, rows, 0), "_l": ended}
                info = {"episode": length, "_episode": ended} if has_statistics and ended.any() else {}
                writer.step(observations[row], chosen[row], np.ones(count), ended, flags[:count], info)
        return int(ends.sum())

    yield "append a frame of 210 x 160 x 3", lambda: append(FRAME, lambda row: np.roll(frame, row, 0), 3, 256)
    yield "append a vector of 17 floats", lambda: append(VECTOR, lambda row: vectors[row % LENGTH, 0], actions[0], 4000)
    yield "append a step of 512 vectors", append_batch
    short = "record an episode of 40 steps of 64 environments"
    yield short, lambda: record_short(has_statistics=False)
    yield f"{short}, with its statistics", lambda: record_short(has_statistics=True)

    recording = folder / "recording"
    with Recorder(recording, VECTOR, policy=MANUAL) as recorder:
        for number in range(EPISODES):
            episode = recorder.start_episode()
            for row in range(LENGTH):
                acted = {"action": actions[number], "reward": row / 7} if row else None
                episode.append({"observation": vectors[row, number]}, acted)
            episode.end(EpisodeEnd.TRUNCATED)
    dataset = rlds_kit.open(recording)

    def scan() -> int:
        for episode in dataset.episodes:
            for field in episode.arrays("observation", "action", "reward").values():
                field.sum()
        return EPISODES * LENGTH

    def rewards() -> int:
        for episode in dataset.episodes:
            episode["reward"].sum()
        return EPISODES * LENGTH

    windows = dataset.windows(8)
    chosen = np.random.default_rng(1).integers(0, len(windows), 64).tolist()

    def random_windows() -> int:
        for index in chosen:
            windows[index]
        return len(chosen)

    def open_it() -> int:
        len(rlds_kit.open(recording).episodes)
        return 1

    def first_batch() -> int:
        batches = iter(rlds_kit.open(recording).transitions().batches(256, threads=1))
        next(batches)
        time.sleep(0.3)  # a thread reads ahead: count all that it may read, not only what it has read so far
        return 1

    npz = folder / "arrays.npz"
    rows = EPISODES * LENGTH
    ends = np.arange(rows) % LENGTH == LENGTH - 1
    floats = rng.normal(size=(rows, 17))
    np.savez(npz, observations=floats, actions=floats[:, :6], rewards=floats[:, 0], terminals=ends, timeouts=ends)

    def convert_it() -> int:
        convert(npz, next(directories))
        return EPISODES

    yield "convert an episode of 200 vectors", convert_it
    yield "read a step, all fields", scan
    yield "read a step, its reward", rewards
    yield "read a random window of 8 steps", random_windows
    yield "open a dataset of 20 episodes", open_it
    yield "open it, first batch of 256 transitions", first_batch


def table() -> str:
    """Measures everything, and returns a table in Markdown."""
    names = [each.name.replace("_", " ") for each in fields(Cost)]
    lines = [f"| operation | {' | '.join(names)} |", f"|{'---|' * (len(names) + 1)}"]
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, operation in operations(Path(folder)):
            cells = [f"{value:.3g}" if value < 1000 else f"{value:.0f}" for value in astuple(measure(operation))]
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def parsed(text: str) -> dict[str, Cost]:
    """The rows of a table by operation."""
    found = {}
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == len(fields(Cost)) + 1 and cells[1].replace(".", "").isdigit():
            found[cells[0]] = Cost(*map(float, cells[1:]))
    return found


def main() -> None:
    """Prints the table, or writes it into the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true", help="write the table into docs/performance.md")
    found = table()
    if parser.parse_args().update:
        before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n\n{found}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")
    print(found)


if __name__ == "__main__":
    main()
