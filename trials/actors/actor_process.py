"""The main loop of a process of actors."""

import asyncio
import contextlib
import signal
import threading
from multiprocessing.connection import Connection
from typing import Any

from rlds_kit.trials.actors.hosted_actors import HostedActors
from rlds_kit.trials.workers.worker import watch_parent


def work(pipe: "Connection[Any, Any]") -> None:
    """Answers requests; those that came while others were answered are answered together.

    Args:
      pipe: gives (number of the request, number of the actor, request), or None at the end; takes (number, answer).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the program's, which then closes the pipe
    threading.Thread(target=watch_parent, name="rlds_kit-parent", daemon=True).start()
    actors = HostedActors()
    with asyncio.Runner() as runner:
        while True:
            batch = _received(pipe)
            if not batch:
                return
            answers = runner.run(actors.answer([(number, request) for _, number, request in batch]))
            with contextlib.suppress(BrokenPipeError):  # the program is gone; the next read ends this
                for (key, _, _), answer in zip(batch, answers, strict=True):
                    pipe.send((key, answer))


def _received(pipe: "Connection[Any, Any]") -> list[tuple[int, int, Any]]:
    """What there is to do now, at least one; nothing at the end, or when the program is gone."""
    batch: list[tuple[int, int, Any]] = []
    try:
        while not batch or pipe.poll():
            message = pipe.recv()
            if message is None:
                return []
            batch.append(message)
    except (EOFError, OSError):
        return []
    return batch
