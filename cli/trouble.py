"""Reports the errors of commands; uses exit code 2 for failures of commands where 1 is a result."""

import contextlib
from collections.abc import Iterator
from typing import Final

import click

from rlds_kit.base.errors import RldsKitError
from rlds_kit.riegeli import RiegeliError

TROUBLE: Final = 2


class Trouble(click.ClickException):
    """Shows an error and exits with 2."""

    exit_code = TROUBLE


@contextlib.contextmanager
def reporting_errors() -> Iterator[None]:
    """Converts errors with a description to a message and exit code 2."""
    try:
        yield
    except KeyError as error:
        raise Trouble(str(error.args[0] if error.args else error)) from error
    except (RldsKitError, RiegeliError, OSError, ValueError, IndexError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Trouble(str(error)) from error


@contextlib.contextmanager
def usage_errors() -> Iterator[None]:
    """Shows errors in the arguments of the user as one line; does not handle errors of datasets."""
    try:
        yield
    except KeyError as error:
        raise click.ClickException(str(error.args[0])) from error
    except ValueError as error:
        raise click.ClickException(str(error)) from error
