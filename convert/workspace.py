"""The directory in which a conversion is made, beside its destination; what is done of it outlives a process.

    .<name>.partial-convert/
      .lock             locked while a process is at work
      plan.json         what is converted, and how
      part-00000/       a part that is done
      part-00000.json   says so; parts without it are made again

A conversion of another source, of one that has changed, or with other options begins anew.
"""

import contextlib
import json
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.errors import DatasetExistsError
from rlds_kit.base.whole_file import make_directory, write_json
from rlds_kit.convert.workers import WorkerDiedError
from rlds_kit.storage import whole_directory

PLAN: Final = "plan.json"
_WORD: Final = "convert"


@contextlib.contextmanager
def workspace(destination: Path) -> Iterator[Path]:
    """The directory for a conversion to a path. It stays where the process is killed or interrupted.

    So it does where the system refuses something, and when a process dies that belongs to the work. It is removed when
    the work is done, and on errors that would come again.

    Raises:
      DatasetExistsError: something is at the destination, or another process makes it.
      OSError: it cannot be made.
    """
    whole_directory.require_free(destination)
    make_directory(destination.parent)
    directory = whole_directory.partial_of(destination, _WORD)
    whole_directory.remove_abandoned(each for each in whole_directory.partials(destination) if each != directory)
    if whole_directory.is_under_way(directory):
        raise DatasetExistsError(
            f"{destination}: another process is converting to it; wait, or give another path. If none is (a file "
            f"system without locks cannot tell), remove {directory}"
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
    """Whether the same conversion may come further the next time."""
    if isinstance(error, DatasetExistsError):
        return False
    return not isinstance(error, Exception) or isinstance(error, WorkerDiedError | OSError)


def prepare(directory: Path, plan: Any) -> None:  # JSON
    """Removes what belongs to another plan, and what was not finished."""
    path = directory / PLAN
    is_same = path.is_file() and path.read_text("utf-8") == json.dumps(plan)
    for each in directory.iterdir():
        belongs = each.name == whole_directory.LOCK or (is_same and each.name.startswith(("part-", PLAN)))
        if not belongs:
            shutil.rmtree(each) if each.is_dir() else each.unlink()
    write_json(path, plan)
