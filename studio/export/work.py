"""Makes an export in a separate process: `python -m rlds_kit.studio.export.work DIRECTORY`.

So games are not delayed, the export can be cancelled at any time, and its failure harms nothing else. The directory has

    request.json      the request: written by the server
    plan.json         which episodes, and how many steps of each: decided once
    <name>/           the export, when it is complete; of an archive, until the archive is complete
    <name>.zip        the archive
    report.json       the report

and a hidden directory with the parts that are done. A process that was killed is resumed there. The process reports its
progress, and how it ended, by lines of JSON: {"progress": 0.5}, {"report": {...}}, or {"error": "..."}. It ends when
its input ends: then the server has ended.
"""

import dataclasses
import json
import os
import shutil
import sys
import threading
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Final, TextIO

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.whole_file import write_json
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.riegeli import RiegeliError
from rlds_kit.storage import whole_directory
from rlds_kit.studio.export.archive import archive
from rlds_kit.studio.export.exporting import make
from rlds_kit.studio.export.job import JOB
from rlds_kit.studio.export.plan import make_plan, read_plan, write_plan
from rlds_kit.studio.export.rules import Chosen, Rules

REQUEST: Final = "request.json"
PLAN: Final = "plan.json"
REPORT: Final = "report.json"
_NICE: Final = 10
_MADE: Final = 0.9
"""The progress when the dataset is complete, but not the archive."""
_PROGRESS_SECONDS: Final = 0.2
_WAIT_SECONDS: Final = 30.0
Progress = Callable[[float], None]


def write_request(directory: Path, name: str, chosen: Sequence[Chosen], rules: Rules, *, is_archive: bool) -> None:
    """Writes the request of an export.

    Args:
      directory: of the export.
      name: of the dataset's directory, and of the archive.
      chosen: the episodes.
      rules: how they are exported.
      is_archive: whether the dataset becomes one file.
    """
    episodes = [dataclasses.asdict(each) for each in chosen]
    content = {"name": name, "archive": is_archive, "rules": rules.as_json(), "episodes": episodes, "left_out": []}
    write_json(directory / REQUEST, content)


def wanted(directory: Path) -> list[str]:
    """The ids of the requested episodes."""
    request = json.loads((directory / REQUEST).read_text("utf-8"))
    return [each["id"] for each in request["episodes"]]


def leave_out(directory: Path, out: Collection[str]) -> None:
    """Removes episodes from a request, and deletes the files that were made with them.

    Args:
      directory: of the export.
      out: ids, as `wanted` gives them.

    Raises:
      OSError: a file cannot be read or written.
    """
    request = json.loads((directory / REQUEST).read_text("utf-8"))
    episodes = request["episodes"]
    request["episodes"] = [each for each in episodes if each["id"] not in out]
    request["left_out"] += [each["public"].get("public_id", each["id"]) for each in episodes if each["id"] in out]
    write_json(directory / REQUEST, request)
    clear(directory, REQUEST, JOB)


def clear(directory: Path, *names: str) -> None:
    """Deletes everything but some files."""
    for each in directory.iterdir() if directory.is_dir() else ():
        if each.name not in names:
            shutil.rmtree(each, ignore_errors=True) if each.is_dir() else each.unlink(missing_ok=True)


def work(directory: Path, progress: Progress = lambda _: None) -> dict[str, Any]:
    """Makes the export, or its missing parts.

    Args:
      directory: of the export.
      progress: called with the progress, from 0 to 1.

    Returns:
      The report: that of `exporting.Report`, with the `name` and `bytes` of the result.

    Raises:
      RldsKitError: it cannot be made.
      OSError: a file cannot be read or written.
    """
    request = json.loads((directory / REQUEST).read_text("utf-8"))
    data, is_archive = directory / request["name"], bool(request["archive"])
    report = _dataset(directory, request, data, lambda done: progress(done * (_MADE if is_archive else 1)))
    made = data
    if is_archive:
        made = directory / f"{request['name']}.zip"
        if data.exists() or not made.exists():
            _archive(data, made, progress)
        shutil.rmtree(data, ignore_errors=True)
    progress(1)
    return {**report, "name": made.name, "bytes": _size(made)}


def _dataset(directory: Path, request: dict[str, Any], data: Path, progress: Progress) -> dict[str, Any]:
    path = directory / REPORT
    if not path.exists():
        _make(directory, request, data, progress)
    report: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return report


def _make(directory: Path, request: dict[str, Any], data: Path, progress: Progress) -> None:
    _wait_for_others(data)
    shutil.rmtree(data, ignore_errors=True)  # left by a process that was killed before its report
    if not (directory / PLAN).exists():
        chosen = [Chosen(**each) for each in request["episodes"]]
        plan = make_plan(chosen, Rules.of_json(request["rules"]))
        plan = dataclasses.replace(plan, left_out=(*request["left_out"], *plan.left_out))
        write_plan(directory / PLAN, plan)
    made = make(read_plan(directory / PLAN), data, progress=lambda done, total: progress(done / max(1, total)))
    write_json(directory / REPORT, dataclasses.asdict(made))


def _archive(data: Path, made: Path, progress: Progress) -> None:
    size, done = max(1, _size(data)), 0

    def count(copied: int) -> None:
        nonlocal done
        done += copied
        progress(_MADE + (1 - _MADE) * done / size)

    archive(data, made, count)


def _wait_for_others(data: Path) -> None:
    """The process of a killed server ends a moment later."""
    partial, began = whole_directory.partial_of(data, "convert"), time.monotonic()
    while whole_directory.is_under_way(partial) and time.monotonic() < began + _WAIT_SECONDS:
        time.sleep(0.1)


def _size(path: Path) -> int:
    files = [path] if path.is_file() else [each for each in path.rglob("*") if each.is_file()]
    return sum(each.stat().st_size for each in files)


class _Lines:
    """Sends messages to the server, at a limited rate."""

    def __init__(self, out: TextIO) -> None:
        self._out, self._next = out, 0.0

    def progress(self, done: float) -> None:
        """Sends the progress."""
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + _PROGRESS_SECONDS
            self.write({"progress": done})

    def write(self, content: dict[str, Any]) -> None:
        """One line."""
        self._out.write(f"{json.dumps(content)}\n")
        self._out.flush()


def _end_with_server() -> None:
    """Ends this process when the server has ended, which closes the pipe; data in the pipe is ignored."""
    while os.read(0, 1):  # not through a buffered file: its lock would still be locked at exit
        pass
    os._exit(1)


def main(directory: Path) -> None:
    """The process."""
    lines, sys.stdout = _Lines(sys.stdout), sys.stderr  # output of libraries must not mix with our messages
    threading.Thread(target=_end_with_server, daemon=True).start()
    if hasattr(os, "nice"):
        os.nice(_NICE)
    try:
        lines.write({"report": work(directory, lines.progress)})
    except ConversionError as error:
        lines.write({"error": str(error), "is_final": True})  # the episodes will not change
    except (RldsKitError, RiegeliError, OSError) as error:
        lines.write({"error": str(error)})
    except Exception as error:
        lines.write({"error": f"{type(error).__name__}: {error}"})
        raise


if __name__ == "__main__":
    main(Path(sys.argv[1]))
