"""Runs one task for each of many parts: in this process, in processes of this machine, on Apache Beam or on Ray."""

from contextlib import AbstractContextManager
from typing import Final, Literal, TypeAlias, get_args

from rlds_kit.base.executor.beam import on_beam
from rlds_kit.base.executor.processes import on_processes
from rlds_kit.base.executor.ray import on_ray
from rlds_kit.base.executor.run import ExecutorError, Run, WorkerDiedError
from rlds_kit.base.executor.serial import serially

__all__ = [
    "NAMES",
    "ExecutorError",
    "Name",
    "Run",
    "WorkerDiedError",
    "executor_named",
    "on_beam",
    "on_processes",
    "on_ray",
    "serially",
]

Name: TypeAlias = Literal["serial", "processes", "beam", "ray"]
NAMES: Final[tuple[Name, ...]] = get_args(Name)


def executor_named(name: Name, workers: int | None = None, address: str = "local") -> AbstractContextManager[Run]:
    """The executor of a name, as command lines give it.

    Args:
      name: one of `NAMES`.
      workers: tasks that run at the same time; None: as the executor chooses.
      address: of a Ray cluster.

    Raises:
      ValueError: there are several workers, and the executor is serial.
    """
    match name:
        case "serial" if workers is not None:
            raise ValueError("workers: expected none with the serial executor")
        case "serial":
            return serially()
        case "beam":
            return on_beam(workers)
        case "ray":
            return on_ray(workers, address=address)
    return on_processes(workers)
