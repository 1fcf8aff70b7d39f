"""The working directory of a conversion, beside its destination; finished parts survive a killed process.

    .<name>.partial-convert/
      .lock             locked while a process works on it
      plan.json         the source, the options and the parts
      part-00000/       a finished part
      part-00000.json   its note; parts without one are converted again

With another or a changed source, or with other options, a conversion starts from the beginning.
"""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.executor.run import WorkerDiedError
from rlds_kit.base.whole_file import make_directory, write_json
from rlds_kit.storage import whole_directory

PLAN: Final = "plan.json"
_WORD: Final = "convert"


@contextlib.contextmanager
def workspace(destination: Path) -> Iterator[Path]:
    """Yields the working directory of a conversion; removes it at the end, and after errors that would occur again.

    It remains after a system error, after Ctrl-C, and if a worker or the process itself was killed.

    Raises:
      DatasetExistsError: the destination exists, or another process converts to it.
      OSError: it cannot be created.
    """
    whole_directory.require_free(destination)
    make_directory(destination.parent)
    directory = whole_directory.partial_of(destination, _WORD)
    whole_directory.remove_abandoned(each for each in whole_directory.partials(destination) if each != directory)
    if whole_directory.is_under_way(directory):
        raise DatasetExistsError(
            f"{destination}: another process is converting to it; wait, or give another path. If none is (a file "
            f"system without locks cannot show it), remove {directory}"
        )
    directory.mkdir(exist_ok=True)
    try:
        with whole_directory.under_way(directory):
            yield directory
    except BaseException as error:
        if not _may_continue(error) or not any(directory.glob("part-*.json")):
            shutil.rmtree(directory, ignore_errors=True)
        raise
    shutil.rmtree(directory, ignore_errors=True)


def _may_continue(error: BaseException) -> bool:
    """Whether repeating the same conversion may succeed."""
    if isinstance(error, DatasetExistsError):
        return False
    return not isinstance(error, Exception) or isinstance(error, WorkerDiedError | OSError)


def prepare(directory: Path, plan: Any) -> None:  # JSON
    """Removes files of other plans and unfinished parts, and writes the plan."""
    path = directory / PLAN
    is_same = path.is_file() and path.read_text("utf-8") == json.dumps(plan)
    for each in directory.iterdir():
        belongs = each.name == whole_directory.LOCK or (is_same and each.name.startswith(("part-", PLAN)))
        if not belongs:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    write_json(path, plan)
