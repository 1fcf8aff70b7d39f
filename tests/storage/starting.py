"""Processes that begin to record into one directory at the same moment.

`python -m tests.storage.starting DIRECTORY MODE NUMBER [links] [locks]` starts so many on a barrier, and prints where
each recorded, or REFUSED; `killed` in place of the number kills one just before it has the directory. What the file
system lacks comes last.
"""

import contextlib
import multiprocessing
import os
import signal
import sys
import warnings
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Final
from unittest import mock

from rlds_kit import DatasetExistsError
from rlds_kit.storage.recorder import Recorder
from tests.storage.file_systems import without_links, without_locks
from tests.storage.killing import DECLARED, row_of

REFUSED: Final = "refused"


def _record(directory: Path, mode: str, barrier: Barrier) -> None:
    barrier.wait()
    try:
        with Recorder(directory, DECLARED, mode=mode) as recorder:
            recorder.start_episode().append(*row_of(0, 0, 0))
            place = str(recorder.directory)
    except DatasetExistsError:
        place = REFUSED
    os.write(1, f"{place}\n".encode())  # at once, and whole


def _die(*_: object, **__: object) -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(directory: Path, mode: str, number: str, lacking: set[str]) -> None:
    """Starts processes, or one that is killed."""
    with contextlib.ExitStack() as stack:
        if "links" in lacking:
            stack.enter_context(without_links())
        if "locks" in lacking:
            warnings.simplefilter("ignore")
            stack.enter_context(without_locks())
        if number == "killed":
            with mock.patch("os.replace" if "links" in lacking else "os.link", _die):
                Recorder(directory, DECLARED, mode=mode)
        context = multiprocessing.get_context("fork")
        barrier = context.Barrier(int(number))
        processes = [context.Process(target=_record, args=(directory, mode, barrier)) for _ in range(int(number))]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
        sys.exit(any(process.exitcode for process in processes))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], set(sys.argv[4:]))
