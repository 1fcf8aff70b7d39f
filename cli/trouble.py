"""How commands report errors; with exit code 2 where 1 is an answer: what was requested could not be checked."""

import contextlib
from collections.abc import Iterator
from typing import Final

import click

from rlds_kit.base.errors import RldsKitError
from rlds_kit.riegeli import RiegeliError

TROUBLE: Final = 2


class Trouble(click.ClickException):
    """Shows what is wrong and exits with 2."""

    exit_code = TROUBLE


@contextlib.contextmanager
def reporting_errors() -> Iterator[None]:
    """Converts errors that describe what is wrong to a message and exit code 2."""
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
    """Shows errors in what the user requested as one line; those of datasets are the program's own."""
    try:
        yield
    except KeyError as error:
        raise click.ClickException(str(error.args[0])) from error
    except ValueError as error:
        raise click.ClickException(str(error)) from error
