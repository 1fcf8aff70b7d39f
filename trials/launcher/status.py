"""How the programs of a launcher are, in a file beside its own."""

import contextlib
import json
import os
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from enum import Enum
from pathlib import Path

from rlds_kit.base.whole_file import write_json
from rlds_kit.trials.launcher.plan import PROCESSES, PlanError


class State(Enum):
    """Of a program."""

    WAITING = "waiting"
    """For those that it needs."""
    STARTING = "starting"
    """It is not ready yet."""
    RUNNING = "running"
    ENDED = "ended"
    FAILED = "failed"
    LOST = "lost"
    """The launcher was killed, so the result is unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessStatus:
    """How a program is.

    Attributes:
      name: of it.
      state: of it.
      pid: of its process; 0: there was none yet.
      code: that it ended with; None: it has not.
      restarts: how often it was started again.
    """

    name: str
    state: State = State.WAITING
    pid: int = 0
    code: int | None = None
    restarts: int = 0


def status_path(plan: Path) -> Path:
    """Where the status of a plan is.

    >>> status_path(Path("data/trials.toml")).name
    '.trials.toml.status.json'
    """
    return plan.with_name(f".{plan.name}.status.json")


def write_status(plan: Path, statuses: Iterable[ProcessStatus]) -> None:
    """Writes how the programs of this launcher are.

    Raises:
      OSError: it cannot be written.
    """
    processes = [{**asdict(each), "state": each.state.value} for each in statuses]
    write_json(status_path(plan), {"launcher": os.getpid(), PROCESSES: processes})


def read_status(plan: str | os.PathLike[str]) -> list[ProcessStatus]:
    """How the programs of a plan are.

    Args:
      plan: path of the TOML file.

    Raises:
      PlanError: it was never started, or the status is damaged.
    """
    path = status_path(Path(plan))
    try:
        content = json.loads(path.read_text("utf-8"))
        found = [ProcessStatus(**{**each, "state": State(each["state"])}) for each in content[PROCESSES]]
        is_alive = _is_alive(int(content["launcher"]))
    except FileNotFoundError as error:
        raise PlanError(f"{plan}: it was never started; `rlds-kit trials up {plan}` starts it") from error
    except (KeyError, TypeError, ValueError) as error:
        raise PlanError(f"{path}: expected the status of a launcher: {error}") from error
    return [each if is_alive else _without_launcher(each) for each in found]


def _without_launcher(status: ProcessStatus) -> ProcessStatus:
    if status.state in {State.ENDED, State.FAILED}:
        return status
    return ProcessStatus(name=status.name, state=State.LOST, pid=status.pid, restarts=status.restarts)


def _is_alive(pid: int) -> bool:
    if os.name == "nt":  # signal 0 is Ctrl-C there
        return True
    with contextlib.suppress(PermissionError):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return False
    return True
