"""Runs the tasks on Ray: on this machine, or on a cluster."""

import contextlib
import functools
from collections.abc import Iterator, Sequence
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.tfds_builders.shards.errors import BuildError
from rlds_kit.tfds_builders.shards.executor import Run, Task
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec


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
        yield functools.partial(_run, library, workers)
    finally:
        if own:
            library.shutdown()


def _run(library: Any, workers: int | None, task: Task, specs: Sequence[ShardSpec]) -> Iterator[ShardInfo]:
    remote = library.remote(num_cpus=1, scheduling_strategy="SPREAD")(task)
    waiting = list(reversed(specs))
    running: list[Any] = []
    while waiting or running:
        while waiting and (workers is None or len(running) < workers):
            running.append(remote.remote(waiting.pop()))
        done, running = library.wait(running)
        for reference in done:
            yield _result(library, reference)


def _result(library: Any, reference: Any) -> ShardInfo:
    try:
        info: ShardInfo = library.get(reference)
    except library.exceptions.RayTaskError as error:
        cause = error.cause
        raise (cause if isinstance(cause, BuildError) else BuildError(f"a task failed: {error}")) from error
    except library.exceptions.RayError as error:
        raise BuildError(f"a worker of Ray died: {error}; run the same build again, what is whole is kept") from error
    return info
