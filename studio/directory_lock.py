"""One server for a directory: two would end each other's sessions."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from rlds_kit.base import lock
from rlds_kit.base.errors import RldsKitError


class InUseError(RldsKitError, RuntimeError):
    """Another server uses the directory, or it cannot be determined whether one does."""


@contextlib.contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Locks the directory of a studio; the system releases the lock when the process dies.

    Raises:
      InUseError: another server has locked it, or that cannot be determined.
    """
    path = directory / "lock"
    with path.open("ab") as file:
        if lock.is_locked(path):
            raise InUseError(f"{directory}: another studio is open here; end it first, or choose another directory")
        if not lock.acquire(file.fileno()):
            raise InUseError(
                f"{directory}: this file system has no locks (flock), so that nothing would keep a second studio out; "
                "choose a directory on a local disk"
            )
        yield
