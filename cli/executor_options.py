"""The options `--executor`, `--workers` and `--address` of commands that run tasks in parallel."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

import click

from rlds_kit.base.executor import NAMES, Name, Run, executor_named


def executor_options(workers_help: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds the options to a command.

    Args:
      workers_help: the help of `--workers`.
    """
    options = (
        click.option(
            "--executor",
            type=click.Choice(NAMES),
            default="processes",
            show_default=True,
            help="What runs the tasks: this process, processes of this machine, Apache Beam or Ray.",
        ),
        click.option("--workers", type=click.IntRange(1), metavar="N", help=workers_help),
        click.option("--address", default="local", show_default=True, help="Of a running Ray cluster."),
    )

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def executor_of(name: Name, workers: int | None, address: str) -> AbstractContextManager[Run]:
    """The executor that the options name.

    Raises:
      BadParameter: the executor takes no workers.
    """
    try:
        return executor_named(name, workers, address)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--workers") from error
