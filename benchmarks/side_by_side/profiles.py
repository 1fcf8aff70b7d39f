"""Profiles of threads, and what NumPy takes for a piece of work on this machine."""

import cProfile
import pstats
import statistics
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

FUNCTIONS: Final = 14
LIMIT_ROUNDS: Final = 20


def microseconds(work: Callable[[], object], count: int) -> float:
    """The median time of one of `count` pieces of work that are done together."""
    found = []
    for _ in range(LIMIT_ROUNDS):
        begin = time.perf_counter()
        work()
        found.append(time.perf_counter() - begin)
    return statistics.median(found) / count * 1e6


@contextmanager
def in_new_threads(watch: cProfile.Profile) -> Iterator[None]:
    """Profiles every thread that is started meanwhile."""
    original = threading.Thread.run

    def run(thread: threading.Thread) -> None:
        watch.enable()
        try:
            original(thread)
        finally:
            watch.disable()

    threading.Thread.run = run  # type: ignore[method-assign]  # for as long as this lasts
    try:
        yield
    finally:
        threading.Thread.run = original  # type: ignore[method-assign]


def print_functions(title: str, watch: cProfile.Profile, steps: int, unit: str = "step") -> None:
    """Prints the functions with the most time of their own, for each of so many steps."""
    found = pstats.Stats(watch).stats  # type: ignore[attr-defined]  # known to every user, and not to typeshed
    own = {key: timing[2] for key, timing in found.items()}
    total = sum(own.values())
    print(f"\n{title}: share of {total / steps * 1e6:.0f} us/{unit} under the profiler, calls/{unit}, function")
    for (path, line, name), seconds in sorted(own.items(), key=lambda item: -item[1])[:FUNCTIONS]:
        place = name if path == "~" else f"{'/'.join(Path(path).parts[-2:])}:{line} {name}"
        print(f"  {seconds / total:5.1%}  {found[path, line, name][1] / steps:6.3f}  {place}")
