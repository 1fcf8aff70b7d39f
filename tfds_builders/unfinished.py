"""Marks the directory in which a build is under way, and removes what killed builds left.

TFDS writes into `incomplete.<random>_<version>` and renames it. What an exception stops it removes; what `kill -9`
stops would lie there for ever.
"""

import contextlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from rlds_kit.storage import lock

MARK: Final = ".rlds_kit_build"
"""A file that is locked while the build runs; the system drops the lock when the process dies."""


@contextlib.contextmanager
def under_way(directory: str | os.PathLike[str]) -> Iterator[None]:
    """While it lasts, `directory` is that of a build; what killed builds left beside it is gone.

    Args:
      directory: TFDS's temporary one. Of a cloud's nothing is known, and nothing is done.
    """
    path = Path(directory)
    if not path.is_dir():
        yield
        return
    version = path.name.partition("_")[2]
    for other in path.parent.glob(f"incomplete.??????_{version}"):
        if (other / MARK).is_file() and not lock.is_held(other / MARK):
            shutil.rmtree(other)
    mark = path / MARK
    with mark.open("xb") as file:
        lock.acquire(file.fileno())
        yield
    mark.unlink(missing_ok=True)
