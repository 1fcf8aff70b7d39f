"""What is said when a framework is not installed."""

import contextlib
from collections.abc import Iterator

from rlds_kit.errors import RldsKitError


class MissingExtraError(RldsKitError, ImportError):
    """A framework is not installed; the message names the line that installs it."""


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Says how to install what an import inside this context does not find.

    Raises:
      MissingExtraError: it is not there.

    >>> with needs("tf"):
    ...     import no_such_framework
    Traceback (most recent call last):
    rlds_kit.feed.extras.MissingExtraError: no_such_framework is not installed: pip install "rlds-kit[tf]"
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f'{error.name} is not installed: pip install "rlds-kit[{extra}]"') from error
