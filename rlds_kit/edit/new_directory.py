"""A directory that appears under its name when it is complete, and not before, also where the process is killed."""

import contextlib
import os
import shutil
import uuid
from collections.abc import Iterator
from pathlib import Path

from rlds_kit.errors import DatasetExistsError
from rlds_kit.storage.append_file import sync_directory


@contextlib.contextmanager
def new_directory(destination: str | os.PathLike[str]) -> Iterator[Path]:
    """A directory of a temporary name to fill; it gets its own name when everything in it is done.

    If filling it fails nothing is left. A process that is killed leaves `.<name>.<random>.unfinished` beside it, which
    nobody takes for a dataset.

    Args:
      destination: must not exist, or be an empty directory.

    Raises:
      DatasetExistsError: something is there, or has come meanwhile.
      OSError: it cannot be made.
    """
    path = Path(destination).absolute()
    _require_free(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(f".{path.name}.{uuid.uuid4().hex}.unfinished")
    unfinished.mkdir()
    try:
        yield unfinished
        sync_directory(unfinished)
        _require_free(path)
        if path.exists():
            path.rmdir()  # empty; not every system renames over a directory
        unfinished.rename(path)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    sync_directory(path.parent)


def _require_free(path: Path) -> None:
    if os.path.lexists(path) and (not path.is_dir() or any(path.iterdir())):
        raise DatasetExistsError(f"{path}: expected a directory that does not exist or is empty; give another path")
