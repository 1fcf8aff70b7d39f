"""Says where batches of transitions spend their time, and what NumPy takes for their frames on this machine."""

import cProfile
import itertools
import mmap
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
from side_by_side.profiles import in_new_threads, microseconds, print_functions

from pipelines_side import fields, inputs
from pipelines_side.contests import Contest

MOST: Final = 60_000
"""Transitions of a profile, if an epoch has so many."""
POOL_BYTES: Final = 64 << 20
"""Of decoded steps, half of the loader's memory: batches are copied out of so many."""


def profile(contest: Contest, workdir: Path) -> None:
    """Reads transitions in blocks; prints a table for the thread that copies, and one for those that decode."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    import rlds_kit

    dataset = rlds_kit.open(inputs.make(contest.given, workdir) / "recording")
    batches = dataset.transitions().batches(fields.BATCH, shuffle="blocks", seed=0)
    _read(batches)
    wall, process, thread = time.perf_counter(), time.process_time(), time.thread_time()
    count = _read(batches)
    caller = time.thread_time() - thread
    others = time.process_time() - process - caller
    print(
        f'shuffle="blocks", us/transition: {(time.perf_counter() - wall) / count * 1e6:.1f}; CPU: caller '
        f"{caller / count * 1e6:.1f}, threads that decode {others / count * 1e6:.1f}"
    )
    watch = cProfile.Profile()
    watch.enable()
    _read(batches)
    watch.disable()
    print_functions("caller", watch, count, "transition")
    watch = cProfile.Profile(time.thread_time)
    alone = dataset.transitions().batches(fields.BATCH, shuffle="blocks", seed=0, threads=1)
    with in_new_threads(watch):
        _read(alone)
    print_functions("thread that decodes", watch, count, "transition")
    print("\nthis machine, us/transition")
    for work, took in _limits(next(iter(batches))["observation"][0]):
        print(f"  {took:5.1f}  {work}")


def _read(batches: Any) -> int:
    """Reads transitions; returns how many."""
    return sum(len(batch["reward"]) for batch in itertools.islice(batches, MOST // fields.BATCH))


def _limits(frame: np.ndarray) -> Iterator[tuple[str, float]]:
    """What is done with the frames of a transition at least, and its microseconds."""
    pool = np.ones((POOL_BYTES // frame.nbytes, frame.nbytes), np.uint8)
    rows = np.random.default_rng(0).integers(len(pool), size=2 * fields.BATCH)
    used = np.zeros((len(rows), frame.nbytes), np.uint8)

    def copy_into(out: np.ndarray) -> None:
        np.take(pool, rows, axis=0, out=out, mode="clip")

    yield "write a frame into memory that was used before", microseconds(lambda: pool.fill(1), len(pool))
    yield "copy two frames into memory that was used before", microseconds(lambda: copy_into(used), fields.BATCH)
    yield "copy two frames into new memory", microseconds(lambda: copy_into(_new(used)), fields.BATCH)


def _new(array: np.ndarray) -> np.ndarray:
    """Memory that the operating system clears first."""
    return np.frombuffer(mmap.mmap(-1, array.nbytes), array.dtype).reshape(array.shape)
