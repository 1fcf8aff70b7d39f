"""The processes that environments run in."""

import contextlib
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from multiprocessing.process import BaseProcess
from typing import Any, Final

PRELOADED: Final = ("rlds_kit.trials.workers.hosted_environments", "rlds_kit.trials.workers.worker", "PIL.Image")
TUNABLES: Final = "GLIBC_TUNABLES"
LARGE_PAGES: Final = "glibc.malloc.hugetlb"
"""Has glibc (since 2.35) request memory in pages of 2 MiB; other allocators ignore the name.

A processor that slept between two steps has to find every page again: with few of them a step takes a sixth less time.
"""
_lock = threading.Lock()


def start(target: Callable[..., None], *arguments: Any) -> BaseProcess:
    """Starts a process that shares nothing with this one: no sockets, no locks, no threads.

    Args:
      target: a function of a module, which the process calls.
      *arguments: of it, as pickles can hold.
    """
    method = "forkserver" if "forkserver" in multiprocessing.get_all_start_methods() else "spawn"
    context: Any = multiprocessing.get_context(method)
    context.set_forkserver_preload(list(PRELOADED))
    process: BaseProcess = context.Process(target=target, args=arguments, name="rlds_kit-worker", daemon=True)
    with _lock, _large_pages():
        process.start()
    return process


@contextlib.contextmanager
def _large_pages() -> Iterator[None]:
    """What is started here allocates from large pages, unless the environment of this process sets that already."""
    before = os.environ.get(TUNABLES)
    if before is None:
        os.environ[TUNABLES] = f"{LARGE_PAGES}=1"
    elif LARGE_PAGES not in before:
        os.environ[TUNABLES] = f"{before}:{LARGE_PAGES}=1"
    try:
        yield
    finally:
        if before is None:
            del os.environ[TUNABLES]
        else:
            os.environ[TUNABLES] = before
