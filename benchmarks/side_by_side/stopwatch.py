"""Plays a trace through a recorder and measures what the recorder adds to the bare environment."""

import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from side_by_side.memory import peak_mib
from side_by_side.trace import Trace


class Environment(Protocol):
    """What dm_env and Gymnasium have in common."""

    def reset(self) -> Any:
        """Begins an episode."""

    def step(self, action: Any) -> Any:
        """Goes on with it."""


def record(
    trace: Trace,
    rows: int,
    make_env: Callable[[], Environment],
    wrap: Callable[[Any], Environment],
    finish: Callable[[Any], object],
) -> dict[str, float]:
    """Plays `rows` rows twice, bare and recorded.

    Args:
      trace: what to play.
      rows: how many.
      make_env: the bare environment.
      wrap: around it, the recorder under test.
      finish: closes the recorder: what it returns from, another process can read.

    Returns:
      Microseconds per row that the recorder adds: `caller` (all of it, from `wrap` to the return of `finish`), `p50`,
      `p99` and `worst` (of single calls), `cpu` (user and system, all threads). And `rows`, `finish` (seconds),
      `steps_per_s`, `peak_mb`.
    """
    _play(trace, min(rows, len(trace)), make_env())  # the page cache and the allocator are warm now
    clock, cpu = time.perf_counter(), _cpu_seconds()
    bare = _play(trace, rows, make_env())
    bare_wall, bare_cpu = time.perf_counter() - clock, _cpu_seconds() - cpu

    clock, cpu = time.perf_counter(), _cpu_seconds()
    env = wrap(make_env())
    calls = _play(trace, rows, env)
    finishing = time.perf_counter()
    finish(env)
    end = time.perf_counter()
    wall, cpu = end - clock - bare_wall, _cpu_seconds() - cpu - bare_cpu

    added = calls - np.median(bare)
    return {
        "rows": rows,
        "caller": wall / rows * 1e6,
        "cpu": cpu / rows * 1e6,
        "p50": float(np.percentile(added, 50)) * 1e6,
        "p99": float(np.percentile(added, 99)) * 1e6,
        "worst": float(added.max()) * 1e6,
        "finish": end - finishing,
        "steps_per_s": rows / wall,
        "bare": bare_wall / rows * 1e6,
        "peak_mb": peak_mib(),
    }


def scan(read: Callable[[], tuple[int, int]]) -> dict[str, float]:
    """Times `read`, which opens a dataset, reads it and returns how many rows it saw and a checksum of them."""
    clock, cpu = time.perf_counter(), _cpu_seconds()
    rows, checksum = read()
    wall = time.perf_counter() - clock
    return {
        "rows": rows,
        "checksum": checksum,
        "steps_per_s": rows / wall,
        "cpu": (_cpu_seconds() - cpu) / rows * 1e6,
    }


def bytes_on_disk(folder: Path) -> int:
    """The sizes of all files below `folder`, indices and metadata included."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def checksum(rows: np.ndarray) -> int:
    """Touches every page of `rows`, `[n, ...]`, and is the same however they are cut: the sum of every 509th byte."""
    flat = np.ascontiguousarray(rows).reshape(len(rows), -1).view(np.uint8)
    return int(flat[:, ::509].sum(dtype=np.int64))


def _play(trace: Trace, rows: int, env: Environment) -> np.ndarray:
    """Seconds of every call."""
    clock, first, actions, length = time.perf_counter, trace.first.tolist(), list(trace.action), len(trace)
    seconds = np.empty(rows)
    for row in range(rows):
        at = row % length
        if first[at]:
            begin = clock()
            env.reset()
        else:
            action = actions[at]
            begin = clock()
            env.step(action)
        seconds[row] = clock() - begin
    return seconds


def _cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime
