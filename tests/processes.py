"""Processes that tests start, and kill."""

import os
import warnings
from collections.abc import Callable
from pathlib import Path


def is_gone(process: int) -> bool:
    """Whether a process has ended, also if no parent collects its exit code, as in many containers."""
    try:
        status = Path(f"/proc/{process}/stat").read_text("utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return True
    return status.rpartition(")")[2].split()[0] in {"Z", "X"}


def exit_code_of_child(work: Callable[[], object]) -> int:
    """Runs `work` in a forked child; returns its exit code: 0 when it returned, 1 when it raised."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # of fork beside threads: that is what is tested
        child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    return os.waitstatus_to_exitcode(status)
