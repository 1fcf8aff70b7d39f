"""What a launcher starts, as a TOML file says it."""

import dataclasses
import graphlib
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError

PROCESSES: Final = "processes"


class PlanError(RldsKitError, ValueError):
    """A file does not say what to start."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ProcessPlan:
    """A program to start.

    Attributes:
      name: of it.
      command: program and arguments; it runs in the folder of the file.
      after: names of programs that must be ready first.
      ready: URL that answers with 200 when it is ready; "": when it runs.
      ready_seconds: how long that may take.
      restarts: how often it is started again after it failed.
      env: variables of its environment, beside those of the launcher.
    """

    name: str
    command: tuple[str, ...]
    after: tuple[str, ...] = ()
    ready: str = ""
    ready_seconds: float = 60.0
    restarts: int = 0
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True, slots=True)
class Plan:
    """All programs to start.

    Attributes:
      path: of the file.
      processes: each behind those that it needs.
    """

    path: Path
    processes: tuple[ProcessPlan, ...]


def read_plan(path: str | os.PathLike[str]) -> Plan:
    """Reads a file.

    Raises:
      PlanError: it is no such file; the message names what is wrong.
    """
    path = Path(path)
    tables = read_toml(path).get(PROCESSES, {})
    if not isinstance(tables, dict) or not tables:
        raise PlanError(f"{path}: expected a table [{PROCESSES}.NAME] for each program to start, got none")
    plans = {name: _process(path, name, table) for name, table in tables.items()}
    for each in plans.values():
        for other in each.after:
            if other not in plans:
                raise PlanError(
                    f"{_where(path, each.name)}: expected one of {', '.join(plans)} in after, got {other!r}"
                )
    try:
        order = list(graphlib.TopologicalSorter({name: each.after for name, each in plans.items()}).static_order())
    except graphlib.CycleError as error:
        raise PlanError(f"{path}: expected programs that do not wait for each other, got {error.args[1]}") from error
    return Plan(path, tuple(plans[name] for name in order))


def read_toml(path: Path) -> dict[str, Any]:
    """The tables of a TOML file.

    Raises:
      PlanError: it cannot be read.
    """
    try:
        return tomllib.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise PlanError(f"{path}: expected a TOML file: {error}") from error


def _process(path: Path, name: str, table: Any) -> ProcessPlan:
    where = _where(path, name)
    known: dict[str, Any] = {
        "command": list,
        "after": list,
        "ready": str,
        "ready_seconds": (int, float),
        "restarts": int,
    }
    known["env"] = dict
    if not isinstance(table, dict) or not table.keys() <= known.keys() or not table.get("command"):
        raise PlanError(f"{where}: expected a command, and perhaps {', '.join(list(known)[1:])}, got {table}")
    for key, value in table.items():
        texts = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
        if not isinstance(value, known[key]) or not all(isinstance(each, str) for each in texts):
            raise PlanError(f"{where}: {key} cannot be {value!r}")
    lists: dict[str, Any] = {key: tuple(value) if isinstance(value, list) else value for key, value in table.items()}
    return ProcessPlan(name=name, **lists)


def _where(path: Path, name: str) -> str:
    return f"{path}: [{PROCESSES}.{name}]"
