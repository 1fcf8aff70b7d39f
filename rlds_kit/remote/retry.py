"""Retries operations after transient errors."""

import time
from collections.abc import Callable
from typing import Final, TypeVar

from rlds_kit.remote.errors import RemoteError, TransientError

T = TypeVar("T")

WAITS: Final = (0.1, 0.4, 1.6, 6.4)
"""Seconds between attempts."""


def retried(attempt: Callable[[], T], place: str) -> T:
    """Calls `attempt` until it succeeds, and returns its result.

    Args:
      attempt: raises TransientError if a retry may succeed.
      place: printed in errors: the file and the bytes.

    Raises:
      RemoteError: the last attempt failed, too.
    """
    for wait in WAITS:
        try:
            return attempt()
        except TransientError:
            time.sleep(wait)
    try:
        return attempt()
    except TransientError as error:
        raise RemoteError(
            f"{place}: {error}; tried {len(WAITS) + 1} times: check the network and the server, then try again"
        ) from None
