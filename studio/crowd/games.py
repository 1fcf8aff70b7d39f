"""What the tasks of a crowd are in the studio: a study each, which is opened only through the crowd."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.crowd.tasks import Crowd, CrowdError, Task
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.database import studies
from rlds_kit.studio.database.seating import SeatPlan, Together
from rlds_kit.studio.database.studies import Content, Study, StudyEnvironment
from rlds_kit.studio.lobby.matchmaking import BY_NAME
from rlds_kit.trials.environments.playable import SEAT
from rlds_kit.trials.workers.pool import EnvironmentLostError, RequestFailedError

with needs("studio"):
    from sqlalchemy import Connection

TURNS: Final = {"realtime": "clock", "turns": "press", "hold": "hold", "release": "release"}
_LATER: Final = 3600.0
"""Seconds that the lobby goes on after programs could have taken the empty seats."""
_UNREADY: Final = (ApiError, RequestFailedError, EnvironmentLostError)


class GameError(CrowdError, RldsKitError):
    """The environments of a crowd cannot be played here as its tasks want; the message lists all problems."""


@dataclass(frozen=True, slots=True)
class Game:
    """A task, as the studio plays it.

    Attributes:
      task: of the crowd.
      study: id of its study.
      environment: of the study.
    """

    task: Task
    study: str
    environment: StudyEnvironment

    @property
    def seats(self) -> tuple[str, ...]:
        """The seats of people, in order."""
        return self.environment.human_seats

    @property
    def is_alone(self) -> bool:
        """Whether one person plays, without waiting for partners."""
        return len(self.seats) == 1

    @property
    def fps(self) -> float:
        """Steps in a second, for clocks of collectors: they cannot be changed, and who only waits gets no time."""
        return self.task.fps


async def environments_of(crowd: Crowd, inspector: Inspector) -> dict[str, StudyEnvironment]:
    """The environments of all tasks, by name: each was made to inspect it.

    Args:
      crowd: the tasks.
      inspector: of the studio, which knows what tasks may name.

    Raises:
      GameError: an environment cannot be made, or does not have the seats.
    """
    problems: list[str] = []
    made: dict[str, StudyEnvironment] = {}
    for name, task in crowd.tasks.items():
        if task.matchmaker not in {*BY_NAME, *inspector.matchmakers}:
            known = ", ".join(sorted({*BY_NAME, *inspector.matchmakers}))
            problems.append(f"tasks.{name}.matchmaker: expected one of {known}, got {task.matchmaker!r}")
        try:
            made[name] = await _environment(task, inspector)
            problems += [f"tasks.{name}: {each.message}" for each in await inspector.misfits([made[name]])]
        except CrowdError as error:
            problems += error.problems
        except _UNREADY as error:
            problems.append(f"tasks.{name}: {error}")
    if problems:
        raise GameError(crowd.name, problems)
    return made


def store_games(
    connection: Connection, owner: str, crowd: Crowd, made: Mapping[str, StudyEnvironment]
) -> dict[str, Game]:
    """The games of all tasks, by name; studies are made, or changed where what is declared has changed.

    Args:
      connection: to the database.
      owner: account of the designer whose studies these are.
      crowd: the tasks.
      made: their environments.
    """
    return {
        name: _open(connection, owner, f"{crowd.name}: {name}", crowd.tasks[name], each) for name, each in made.items()
    }


async def _environment(task: Task, inspector: Inspector) -> StudyEnvironment:
    is_several = task.environment in await inspector.of_several()
    interface = "pettingzoo" if is_several else "dm_env" if ":" in task.environment else "gymnasium"
    plain = StudyEnvironment(
        name=task.title,
        instructions=task.instructions.get("", ""),
        environment=task.environment,
        interface=interface,
        kwargs=dict(task.kwargs),
        turn=TURNS[task.pace],
        fps=task.fps,
        together=_together(task),
    )
    found = await inspector.seats(plain)
    controls = {seat: _with_keys(task, each) for seat, each in found.items()} if task.keys else dict.fromkeys(found)
    if list(found) == [SEAT] and task.seats == 1:
        if task.partner:
            problem = f"tasks.{task.name}.partner: expected no program, because one person plays alone"
            raise CrowdError(task.name, [problem])
        return replace(plain, controls=controls[SEAT])
    return replace(plain, seats=_seats(task, controls))


def _together(task: Task) -> Together:
    """None of several people can pause or end the game of the others; what is over is saved."""
    alone = "one" if task.seats == 1 else "nobody"
    return Together(
        fill_seconds=task.wait_seconds if task.partner else None,
        wait_seconds=task.wait_seconds + (_LATER if task.partner else 0.0),
        matchmaker="" if task.matchmaker == "order" else task.matchmaker,
        within_ms=task.match_within_ms,
        longest_seconds=task.match_seconds,
        pause=alone,
        cancel=alone,
        confirm="nobody",
        onlookers=False,
    )


def _seats(task: Task, controls: Mapping[str, Mapping[str, Any] | None]) -> tuple[SeatPlan, ...]:
    names = list(controls)
    if task.seats > len(names):
        raise CrowdError(
            task.name,
            [f"tasks.{task.name}.seats: expected up to {len(names)} ({', '.join(names)}), got {task.seats}"],
        )
    if task.seats < len(names) and not task.partner:
        empty = ", ".join(names[task.seats :])
        raise CrowdError(task.name, [f'tasks.{task.name}.partner: expected a program for {empty}, such as "random"'])
    return tuple(
        SeatPlan(
            name=name,
            is_human=number < task.seats,
            actor=task.partner,
            controls=controls[name],
            instructions=task.instructions.get(name, ""),
        )
        for number, name in enumerate(names)
    )


def _with_keys(task: Task, known: Mapping[str, Any] | None) -> dict[str, Any]:
    """The keys of an environment, with those of the task in their place."""
    rows: Sequence[Mapping[str, Any]] = [] if known is None else known["actions"]
    names = [each["name"] for each in rows]
    wrong = [str(name) for name in task.keys if name not in names]
    if known is None or wrong:
        raise CrowdError(
            task.name,
            [f"tasks.{task.name}.keys: expected some of the actions {', '.join(names)}, got {', '.join(wrong)}"],
        )
    given = {name: [keys] if isinstance(keys, str) else list(keys) for name, keys in task.keys.items()}
    actions = [{"name": each["name"], "keys": given.get(each["name"], each["keys"])} for each in rows]
    return {"actions": actions, "default": known["default"]}


def _open(connection: Connection, owner: str, name: str, task: Task, environment: StudyEnvironment) -> Game:
    mine = studies.visible(connection, owner, enabled=False, others=False)
    known = next((each for each in mine if each.content.name == name), None)
    content = Content(name=name, description=task.text, environments=(environment,))
    study = studies.add(connection, owner, content) if known is None else _changed(connection, known, content)
    return Game(task, study.id, study.content.environments[0])


def _changed(connection: Connection, known: Study, content: Content) -> Study:
    """The study with this content; its next version if that is new."""
    there = known.content.environments
    same = replace(content, environments=tuple(replace(each, id=there[0].id) for each in content.environments))
    if asdict(same) == asdict(known.content):
        return known
    return studies.change(connection, known.id, known.version, same)
