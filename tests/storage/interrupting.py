"""Signals at any line of the caller's side of a recorder."""

import linecache
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any, Final

INTERRUPTED_FILES: Final = (
    "batch_buffer.py",
    "batch_columns.py",
    "batch_jobs.py",
    "batch_recorder.py",
    "batch_state.py",
    "branch.py",
    "buffer.py",
    "declared.py",
    "episode_recorder.py",
    "intake.py",
    "leaf.py",
    "row_buffer.py",
    "row_log.py",
)


@contextmanager
def interrupt_at(number: int, handle: Callable[..., object] = signal.default_int_handler) -> Iterator[list[str]]:
    """A signal before the `number`-th line that the caller's side executes; yields what was interrupted."""
    struck: list[str] = []
    lines = iter(range(number + 1))

    def local(frame: FrameType, event: str, _: Any) -> Any:
        # A `with` of a lock written in C cannot be interrupted half way; a line of Python can.
        if event == "line" and not struck and not _is_with(frame) and next(lines, None) == number:
            struck.append(f"{frame.f_code.co_name} line {frame.f_lineno}")
            handle(signal.SIGINT, frame)
        return local

    def trace(frame: FrameType, _: str, __: Any) -> Any:
        path = Path(frame.f_code.co_filename)
        return local if path.name in INTERRUPTED_FILES and path.parent.name == "storage" else None

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield struck
    finally:
        sys.settrace(before)


def _is_with(frame: FrameType) -> bool:
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")
