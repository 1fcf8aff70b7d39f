"""What is said when a framework is not installed."""

import contextlib
from collections.abc import Iterator

from rlds_kit.base.errors import RldsKitError
from rlds_kit.install import how_to_install


class MissingExtraError(RldsKitError, ImportError):
    """A framework is not installed; the message names the line that installs it."""


@contextlib.contextmanager
def needs(extra: str) -> Iterator[None]:
    """Says how to install what an import inside this context does not find.

    Raises:
      MissingExtraError: it is not there.

    >>> with needs("tf"):
    ...     import missing
    Traceback (most recent call last):
    rlds_kit.base.extras.MissingExtraError: missing is not installed: pip install ".[tf]" in a checkout of rlds_kit
    """
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(f"{error.name} is not installed: {how_to_install(extra)}") from error
