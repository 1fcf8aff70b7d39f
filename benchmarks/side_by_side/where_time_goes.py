"""Says where the recorder spends CPU time, and what NumPy takes for a frame on this machine.

For each thread the time without a profiler, then the functions that have most. The first line is exact. The profiler
makes calls of Python functions dearer than they are, so the shares are a guide. Those of the background thread are of
its CPU time; those of the caller and the scan of wall time, as that clock is cheaper: a function that lets go of
Python's lock is charged there for waiting to have it again.
"""

import cProfile
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import xxhash

from side_by_side import make_traces
from side_by_side.null_dm_env import NullDmEnv
from side_by_side.profiles import in_new_threads, microseconds, print_functions
from side_by_side.trace import Trace

MEMORY_LIMIT: Final = 32 << 20
ROWS: Final = 24_000
SLICE: Final = 256
"""Steps that are read at once."""


def profile(workdir: Path) -> None:
    """Records Space Invaders and reads it; prints a table for the caller, the background thread and the full scan."""
    sys.path.insert(0, str(Path(__file__).parents[2]))
    import rlds_kit

    trace = Trace(make_traces.make("SpaceInvaders", workdir / "traces"))
    _play(trace, NullDmEnv(trace))
    bare, _ = _play(trace, NullDmEnv(trace))
    with tempfile.TemporaryDirectory() as folder:
        caller, total = _play(trace, _logger(trace, f"{folder}/plain"))
        print(
            f"CPU us/step: caller {caller - bare:.1f}, background {total - caller:.1f} (the environment had {bare:.1f})"
        )

        watch = cProfile.Profile()
        env = _logger(trace, f"{folder}/caller")
        watch.enable()
        _play(trace, env)
        watch.disable()
        print_functions("caller", watch, ROWS)

        watch = cProfile.Profile(time.thread_time)
        with in_new_threads(watch):
            _play(trace, _logger(trace, f"{folder}/background"))
        print_functions("background thread", watch, ROWS)

        watch = cProfile.Profile()
        watch.enable()
        for episode in rlds_kit.open(f"{folder}/plain").episodes:
            for begin in range(0, len(episode), SLICE):
                episode[begin : begin + SLICE].arrays()
        watch.disable()
        print_functions("full scan", watch, ROWS)
    print("\nthis machine, us/frame")
    for work, took in _limits(NullDmEnv(trace).reset().observation.nbytes):
        print(f"  {took:5.1f}  {work}")


def _limits(frame_bytes: int) -> Iterator[tuple[str, float]]:
    """What a recorder and a reader do with frames, each by one call of NumPy, and its microseconds for a frame.

    As many frames as are read at once. The comparison also writes a flag for each byte.
    """
    frames = np.ones((256, frame_bytes), np.uint8)
    used = np.zeros_like(frames)
    yield "write into memory that was used before", microseconds(lambda: used.fill(1), len(frames))
    yield "write into new memory", microseconds(lambda: np.empty_like(frames).fill(1), len(frames))
    yield "copy into memory that was used before", microseconds(lambda: np.copyto(used, frames), len(frames))
    yield "read, and compare with another", microseconds(lambda: np.array_equal(used, frames), len(frames))
    yield "hash", microseconds(lambda: [xxhash.xxh3_128_digest(frame) for frame in frames], len(frames))


def _logger(trace: Trace, folder: str) -> Any:  # a dm_env.Environment
    from rlds_kit import logger

    return logger.EnvLogger(NullDmEnv(trace), folder, lambda _, __, env: {"ale": env.info}, memory_limit=MEMORY_LIMIT)


def _play(trace: Trace, env: Any) -> tuple[float, float]:
    """Microseconds of CPU per step of this thread and, `close` included, of the process."""
    first, actions = trace.first.tolist(), list(trace.action)
    process, thread = time.process_time(), time.thread_time()
    for row in range(ROWS):
        at = row % len(trace)
        if first[at]:
            env.reset()
        else:
            env.step(actions[at])
    caller = time.thread_time() - thread
    env.close()
    return caller / ROWS * 1e6, (time.process_time() - process) / ROWS * 1e6
