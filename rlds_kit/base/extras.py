"""The error for optional packages that are not installed."""

import contextlib
from collections.abc import Iterator

from rlds_kit.base.errors import RldsKitError
from rlds_kit.install import how_to_install


class MissingExtraError(RldsKitError, ImportError):
    """An optional package is not installed; the message has the command that installs it."""


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Converts an ImportError inside this context to an error with the command that installs the package.

    Raises:
      MissingExtraError: the package is not installed.

    >>> with needs("tf"):
    ...     import missing
    Traceback (most recent call last):
    rlds_kit.base.extras.MissingExtraError: missing is not installed: pip install ".[tf]" in a checkout of rlds_kit
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{error.name} is not installed: {how_to_install(extra)}") from error
