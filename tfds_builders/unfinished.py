"""Marks the directory in which a build is under way, and removes what killed builds left.

TFDS writes into `incomplete.<random>_<version>` and renames it. What an exception stops it removes; what `kill -9`
stops would remain for ever.
"""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from rlds_kit.storage import whole_directory


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
    whole_directory.remove_abandoned(path.parent.glob(f"incomplete.??????_{version}"))
    with whole_directory.under_way(path):
        yield
    (path / whole_directory.LOCK).unlink(missing_ok=True)
