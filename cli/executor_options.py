"""The options `--executor`, `--workers` and `--address` of commands that run tasks in parallel."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import click

from rlds_kit.base.executor import Run, on_beam, on_processes, on_ray, serially


def executor_options(workers_help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the options to a command; `workers_help` is the help of `--workers`."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        command = click.option("--address", default="local", show_default=True, help="Of a running Ray cluster.")(
            command
        )
        command = click.option("--workers", type=click.IntRange(1), metavar="N", help=workers_help)(command)
        return click.option(
            "--executor",
            type=click.Choice(("serial", "processes", "beam", "ray")),
            default="processes",
            show_default=True,
            help="What runs the tasks: this process, processes of this machine, Apache Beam or Ray.",
        )(command)

    return add


def executor_of(name: str, workers: int | None, address: str) -> AbstractContextManager[Run]:
    """The executor that the options name."""
    if name == "serial" and workers is not None:
        raise click.BadParameter("expected none with --executor serial", param_hint="--workers")
    if name == "ray":
        return on_ray(workers, address=address)
    return serially() if name == "serial" else on_beam(workers) if name == "beam" else on_processes(workers)
