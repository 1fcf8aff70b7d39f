"""Runs one task for each of many parts: in this process, in processes of this machine, on Apache Beam or on Ray."""

from rlds_kit.base.executor.beam import on_beam
from rlds_kit.base.executor.processes import on_processes
from rlds_kit.base.executor.ray import on_ray
from rlds_kit.base.executor.run import ExecutorError, Run, WorkerDiedError
from rlds_kit.base.executor.serial import serially
from rlds_kit.base.executor.shared import on_this_and_processes

__all__ = [
    "ExecutorError",
    "Run",
    "WorkerDiedError",
    "on_beam",
    "on_processes",
    "on_ray",
    "on_this_and_processes",
    "serially",
]
