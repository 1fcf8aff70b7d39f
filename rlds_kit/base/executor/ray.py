"""Runs the tasks on Ray: on this machine, or on a cluster."""

import contextlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from rlds_kit.base.executor.run import AGAIN, Notify, Outcome, P, R, Run, WorkerDiedError, attempt
from rlds_kit.base.extras import needs


@contextlib.contextmanager
def on_ray(workers: int | None = None, *, address: str = "local") -> Iterator[Run]:
    """An executor that spreads tasks over the nodes of a cluster; each takes one CPU.

    Every node must have rlds_kit installed and see the directories of source and destination under the same paths. A
    task whose worker dies is run again elsewhere. If this process is connected to a cluster already, that one is used
    and stays connected.

    Args:
      workers: of a cluster that is started here, by default as many as the machine has cores; on another cluster, how
        many tasks may run at once.
      address: "local" starts a cluster for as long as the context lasts; else that of a running one.

    Raises:
      MissingExtraError: Ray is not installed.
    """
    with needs("ray"):
        import ray as library
    own = not library.is_initialized()
    if own:
        cpus: dict[str, Any] = {"num_cpus": workers, "include_dashboard": False} if address == "local" else {}
        library.init(address=address, log_to_driver=False, **cpus)
    try:
        yield partial(_run, library, workers)
    finally:
        if own:
            library.shutdown()


def _run(
    library: Any,
    workers: int | None,
    task: Callable[[P], R],
    parts: Sequence[P],
    *,
    shared: Path | None = None,  # noqa: ARG001  reports come through Ray
    notify: Notify | None = None,  # noqa: ARG001  a task of Ray has no way to call this process
) -> Iterator[R]:
    start = library.remote(num_cpus=1, scheduling_strategy="SPREAD")(attempt).remote
    shared_task, waiting = library.put(task), list(reversed(parts))
    running: dict[Any, P] = {}
    try:
        while waiting or running:
            while waiting and (workers is None or len(running) < workers):
                part = waiting.pop()
                running[start(shared_task, part)] = part
            for reference in library.wait(list(running))[0]:
                yield _outcome(library, reference, running.pop(reference)).get()
    finally:
        for reference in running:
            library.cancel(reference, force=True)


def _outcome(library: Any, reference: Any, part: object) -> Outcome[Any]:
    try:
        found: Outcome[Any] = library.get(reference)
    except library.exceptions.RayError as error:
        raise WorkerDiedError(f"the worker of Ray that worked on {part} died: {error}; {AGAIN}") from error
    return found
