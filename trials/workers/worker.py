"""The main loop of a worker: a process that plays several environments, one request after another."""

import os
import signal
import threading
import traceback
from multiprocessing import parent_process
from multiprocessing.connection import Connection
from typing import Any, Final

from rlds_kit.trials.environments.catalogue import catalogue
from rlds_kit.trials.environments.parallel_catalogue import parallel_catalogue
from rlds_kit.trials.environments.schema import kwargs_schema
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.stage import Stage

ORPHAN_SECONDS: Final = 5.0
"""For recordings to be closed when the server is gone; then the process ends, whatever it is doing."""


def work(pipe: "Connection[Any, Any]") -> None:
    """Answers requests; at the end, or when the server is gone, ends open episodes and closes everything.

    Args:
      pipe: gives (number of the request, number of the environment, request), or None at the end; takes (number,
        answer).
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the server's, which then closes the pipe
    threading.Thread(target=watch_parent, name="rlds_kit-parent", daemon=True).start()
    stages: dict[int, Stage] = {}
    try:
        while True:
            message = pipe.recv()
            if message is None:
                break
            number, environment, request = message
            pipe.send((number, _answer(stages, environment, request)))
    except (EOFError, OSError):
        pass  # the server is gone
    finally:
        for stage in stages.values():
            try:
                stage.close()
            except Exception:  # noqa: BLE001  the others are to be closed too
                traceback.print_exc()


def watch_parent() -> None:
    """Ends this process a while after the one that started it has ended, whatever it is doing then."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        threading.Event().wait(ORPHAN_SECONDS)
        os._exit(1)


def _answer(stages: dict[int, Stage], environment: int, request: requests.Request) -> requests.Answer:
    """Does a request. What an environment raises is an answer too, never the end of the others."""
    try:
        return _do(stages, environment, request)
    except Exception as error:  # noqa: BLE001  an environment may raise anything
        is_lost = not isinstance(
            request, requests.Open | requests.Show | requests.Sync | requests.Catalogue | requests.Describe
        )
        reason = f"{type(error).__name__}: {error}"
        if is_lost and environment in stages:
            reason += _closed(stages.pop(environment))
        return requests.Failed(reason, is_lost=is_lost)


def _closed(stage: Stage) -> str:
    """Closes what failed; returns the errors of that."""
    try:
        stage.close()
    except Exception as error:  # noqa: BLE001  it has failed already
        return f"; and closing it: {type(error).__name__}: {error}"
    return ""


def _do(stages: dict[int, Stage], environment: int, request: requests.Request) -> requests.Answer:
    if isinstance(request, requests.Open):
        stages[environment] = Stage(request)
        return stages[environment].opened()
    if isinstance(request, requests.Catalogue):
        known = parallel_catalogue if request.interface == "pettingzoo" else catalogue
        return known(request.modules)
    if isinstance(request, requests.Describe):
        return kwargs_schema(request.id)
    if isinstance(request, requests.Close):
        stages.pop(environment).close()
        return None
    return stages[environment].answer(request)
