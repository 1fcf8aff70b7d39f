"""Exit code 2 for commands whose exit code 1 is an answer: what was asked could not be looked at."""

import contextlib
from collections.abc import Iterator
from typing import Final

import click

from rlds_kit.base.errors import RldsKitError
from rlds_kit.riegeli import RiegeliError

TROUBLE: Final = 2


class Trouble(click.ClickException):
    """Says what is wrong and exits with 2."""

    exit_code = TROUBLE


@contextlib.contextmanager
def telling_trouble() -> Iterator[None]:
    """Turns errors that say what is wrong into a message and exit code 2."""
    try:
        yield
    except KeyError as error:
        raise Trouble(str(error.args[0] if error.args else error)) from error
    except (RldsKitError, RiegeliError, OSError, ValueError, IndexError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        raise Trouble(str(error)) from error
