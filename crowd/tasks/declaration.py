"""Reads a crowd from TOML; every mistake of the file is listed by its field."""

import dataclasses
import datetime as dt
import os
import tomllib
from pathlib import Path
from typing import Any, Final

from rlds_kit.crowd.collectors.shipped import collector
from rlds_kit.crowd.incentives.bonus import Bonus, Formula
from rlds_kit.crowd.incentives.requirement import Requirement
from rlds_kit.crowd.incentives.treatment import Treatment, presets
from rlds_kit.crowd.tasks.form import read_form
from rlds_kit.crowd.tasks.recruitment import SOURCES
from rlds_kit.crowd.tasks.screening import Screening
from rlds_kit.crowd.tasks.table import CrowdError, Table
from rlds_kit.crowd.tasks.task import Crowd, Group, Mode, Task

PACES: Final = ("realtime", "turns", "hold", "release")
MATCHMAKERS: Final = ("order", "latency", "group")
_PRESETS: Final = ("none", "active_time", "minimum", "sliding_bonus", "all", "raffle", "challenge")


def read_crowd(path: str | os.PathLike[str]) -> Crowd:
    """Reads the file of a crowd.

    Raises:
      CrowdError: the file has mistakes; all of them are listed.
      OSError: it cannot be read.
    """
    try:
        text = Path(path).read_text("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CrowdError(str(path), [f"expected a text in UTF-8: {error}"]) from error
    return parse_crowd(text, place=str(path))


def parse_crowd(text: str, *, place: str = "the crowd") -> Crowd:
    """A crowd from TOML.

    Args:
      text: TOML.
      place: of it, for errors.

    Raises:
      CrowdError: it has mistakes; all of them are listed.

    >>> crowd = parse_crowd('''
    ... name = "Poles"
    ... [tasks.pole]
    ... title = "Keep the pole up"
    ... environment = "CartPole-v1"
    ... ''')
    >>> crowd.groups["main"].tasks
    ('pole',)
    """
    try:
        values = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise CrowdError(place, [str(error)]) from error
    found: list[str] = []
    crowd = _crowd(Table(values, "", found))
    if found:
        raise CrowdError(place, found)
    return dataclasses.replace(crowd, text=text)


def _crowd(top: Table) -> Crowd:
    tasks = {name: _task(name, table) for name, table in top.tables("tasks")}
    if not tasks and not top.problems:
        top.wrong("tasks", "at least one task: [tasks.NAME]")
    groups = {name: _group(name, table, tasks) for name, table in top.tables("groups")}
    recruitment = top.texts("recruitment", ("laboratory", "test"))
    if not recruitment or not set(recruitment) <= set(SOURCES):
        top.wrong("recruitment", f"some of {', '.join(SOURCES)}")
    crowd = Crowd(
        top.text("name"),
        tasks,
        groups or {"main": Group("main", tuple(tasks))},
        top.text("consent", ""),
        recruitment,
        read_form([*top.rows("before")]),
        read_form([*top.rows("after")]),
        read_form([*top.rows("check")], is_check=True),
        top.integer("attempts", 2, least=1),
        _screening(top.table("screening")),
        top.number("over_recruit", 0.0),
        top.number("grace_seconds", 60.0),
        top.text("completion_code", ""),
        _time(top, "opens"),
        _time(top, "closes"),
        top.text("currency", "USD"),
    )
    if crowd.opens is not None and crowd.closes is not None and crowd.opens >= crowd.closes:
        top.wrong("closes", "a time after opens")
    top.no_more()
    return crowd


def _task(name: str, table: Table) -> Task:
    instructions = table.value("instructions")
    if isinstance(instructions, str):
        instructions = {"": instructions}
    if instructions is not None and not (
        isinstance(instructions, dict) and all(isinstance(each, str) for each in instructions.values())
    ):
        table.wrong("instructions", "text, or a table with text for each seat")
        instructions = None
    task = Task(
        name,
        table.text("title"),
        table.text("environment"),
        table.text("text", ""),
        dict(table.value("kwargs") or {}) if isinstance(table.value("kwargs") or {}, dict) else {},
        table.integer("seats", 1, least=1),
        table.choice("pace", PACES, "realtime"),
        table.number("fps", 60.0, least=0.1),
        table.value("keys") or {},
        instructions or {},
        _collectors(table, "collectors"),
        _treatment(name, table),
        table.integer("target", 1, least=1),
        table.text("redirect", ""),
        table.flag("play_again", default=False),
        table.number("wait_seconds", 900.0),
        table.text("partner", ""),
        table.text("matchmaker", "order"),
        table.number("match_within_ms", 50.0),
        table.number("match_seconds", 30.0),
        _requirement(table.table("quality")) if table.has("quality") else None,
        table.flag("ahead", default=True),
    )
    for field in ("kwargs", "keys"):
        if not isinstance(table.value(field) or {}, dict):
            table.wrong(field, "a table")
    if ":" not in task.matchmaker and task.matchmaker not in MATCHMAKERS:
        table.wrong("matchmaker", f"one of {', '.join(MATCHMAKERS)}, or module:function")
    if task.redirect and not task.redirect.startswith("https://"):
        table.wrong("redirect", "an address that begins with https://")
    table.no_more()
    return task


def _group(name: str, table: Table, tasks: dict[str, Task]) -> Group:
    names = table.texts("tasks", tuple(tasks))
    if not names or not set(names) <= tasks.keys() or len(set(names)) < len(names):
        table.wrong("tasks", f"some of the tasks {', '.join(tasks)}, each once")
    mode = Mode(table.choice("mode", tuple(each.value for each in Mode), "equal"))
    group = Group(name, names, mode, table.flag("weighted", default=False))
    bare = [each for each in names if each in tasks and tasks[each].quality is None] if group.is_weighted else []
    if bare:
        table.wrong("weighted", f"tasks that declare their quality, which {', '.join(bare)} do not")
    table.no_more()
    return group


def _collectors(table: Table, name: str) -> tuple[str, ...]:
    names = table.texts(name, ("score",))
    for each in names:
        _require_collector(table, name, each)
    return names


def _treatment(name: str, task: Table) -> Treatment:
    table = task.table("treatment")
    if table.has("preset"):
        preset, order = table.choice("preset", _PRESETS), table.text("order", "inside_out")
        lump, base = table.integer("lump_cents", 1, least=1), table.integer("base_cents", 0)
        table.no_more()
        if base >= lump:
            table.wrong("base_cents", f"less than lump_cents, {lump}")
            return Treatment(preset)
        treatment = presets(lump, base, order)[preset]
        for each in treatment.collectors:
            _require_collector(table, "order", each)
        return treatment
    requirements = tuple(map(_requirement, table.rows("requirements")))
    base, tickets = table.integer("base_cents", 0), table.integer("tickets", 0)
    bonus = _bonus(table.table("bonus")) if table.has("bonus") else None
    table.no_more()
    return Treatment(name, base, requirements, bonus, tickets)


def _requirement(table: Table) -> Requirement:
    found = Requirement(_one_collector(table, "collector"), _above_nothing(table, "at_least"))
    table.no_more()
    return found


def _bonus(table: Table) -> Bonus:
    bonus = Bonus(
        table.integer("most_cents", least=1),
        _one_collector(table, "count"),
        _one_collector(table, "fraction"),
        Formula(table.choice("formula", tuple(each.value for each in Formula), "sliding")),
        _above_nothing(table, "full_at", 200.0),
    )
    table.no_more()
    return bonus


def _one_collector(table: Table, name: str) -> str:
    found = table.text(name)
    if found:
        _require_collector(table, name, found)
    return found


def _require_collector(table: Table, name: str, found: str) -> None:
    try:
        collector(found)
    except ValueError as error:
        table.problems.append(f"{table.at(name)}: {error}")


def _above_nothing(table: Table, name: str, default: float | None = None) -> float:
    found = table.number(name) if default is None else table.number(name, default)
    if found <= 0:
        if table.has(name):
            table.wrong(name, "a number above 0")
        return 1.0
    return found


def _screening(table: Table) -> Screening:
    screening = Screening(
        table.integer("least_width", 0),
        table.integer("least_height", 0),
        table.flag("keyboard", default=True),
        tuple(each.lower() for each in table.texts("refused_browsers")),
        table.number("most_latency_ms", float("inf")),
        table.number("patience_seconds", 60.0),
    )
    table.no_more()
    return screening


def _time(table: Table, name: str) -> dt.datetime | None:
    found: Any = table.value(name)
    if found is not None and not (isinstance(found, dt.datetime) and found.tzinfo is not None):
        table.wrong(name, "a time with its zone, such as 2026-11-25T09:00:00Z")
        return None
    return found
