"""An export as the server stores it: a file beside the exported data, so that it survives the server."""

import dataclasses
import json
import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.whole_file import write_json

JOB: Final = "job.json"
_ID: Final = re.compile("[0-9a-f]{32}")


class State(StrEnum):
    """The state of an export."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"

    @property
    def is_over(self) -> bool:
        """Whether the export has ended."""
        return self in {State.DONE, State.FAILED, State.CANCELLED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """An export.

    Attributes:
      id: an id that cannot be guessed.
      owner: the account that it is made for.
      name: of the archive or folder, without ".zip".
      is_archive: whether it is one file.
      episodes: number of chosen episodes.
      rules: as `Rules.as_json` gives them.
      created_ns: when it was requested, nanoseconds since 1970.
      state: its state.
      progress: from 0 to 1.
      error: why it failed; "" if it did not.
      report: its content, once it is done.
      ended_ns: when it ended, nanoseconds since 1970; 0: it has not.
      is_final: whether every further try would fail, too.
    """

    id: str
    owner: str
    name: str
    is_archive: bool
    episodes: int
    rules: Mapping[str, Any]
    created_ns: int = field(default_factory=time.time_ns)
    state: State = State.WAITING
    progress: float = 0.0
    error: str = ""
    report: Mapping[str, Any] | None = None
    ended_ns: int = 0
    is_final: bool = False


def new_id() -> str:
    """An id that cannot be guessed."""
    return secrets.token_hex(16)


def write_job(directory: Path, job: Job) -> None:
    """Writes a job, durably.

    Args:
      directory: of all exports; each has one of its own there.
      job: to write.

    Raises:
      OSError: the file cannot be written.
    """
    write_json(directory / job.id / JOB, dataclasses.asdict(job))


def read_jobs(directory: Path) -> list[Job]:
    """All jobs that were written, the oldest first; other files are ignored."""
    found = [_read(each) for each in directory.iterdir() if _ID.fullmatch(each.name)] if directory.is_dir() else []
    return sorted((each for each in found if each is not None), key=lambda each: each.created_ns)


def _read(directory: Path) -> Job | None:
    try:
        content = json.loads((directory / JOB).read_text("utf-8"))
        job = Job(**{**content, "state": State(content["state"])})
    except (OSError, ValueError, TypeError, KeyError):
        return None
    return job if job.id == directory.name else None
