"""The main loop of a process that answers requests."""

import os
import signal
import threading
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any, Final

from rlds_kit.trials.workers.job import Job

ORPHAN_SECONDS: Final = 5.0
"""For recordings to be closed when the server is gone; then the process ends, whatever it is doing."""


def serve(job: Job, pipe: "Connection[Any, Any]") -> None:
    """Answers requests; at the end, or when the server is gone, closes everything.

    Args:
      job: what to do.
      pipe: gives (number of the request, number of what it is for, request), or None at the end; takes (number of the
        request, answer).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which then closes the pipe
    threading.Thread(target=watch_parent, name="rlds_kit-parent", daemon=True).start()
    served = job.make()
    try:
        while batch := _received(pipe, is_batched=job.is_batched):
            answers = served.answer([(number, request) for _, number, request in batch])
            for (key, _, _), answer in zip(batch, answers, strict=True):
                pipe.send((key, answer))
    except OSError:
        pass  # the server is gone
    finally:
        served.close()


def _received(pipe: "Connection[Any, Any]", *, is_batched: bool) -> list[tuple[int, int, Any]]:
    """What there is to do now, at least one; nothing at the end, or when the server is gone."""
    batch: list[tuple[int, int, Any]] = []
    try:
        while not batch or (is_batched and pipe.poll()):
            message = pipe.recv()
            if message is None:
                return []
            batch.append(message)
    except (EOFError, OSError):
        return []
    return batch


def watch_parent() -> None:
    """Ends this process a while after the one that started it has ended, whatever it is doing then."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        threading.Event().wait(ORPHAN_SECONDS)
        os._exit(1)
