"""Tasks: what people do in a studio besides playing. Other parts of the package and other packages install them.

A task is an entry point of the group `rlds_kit.studio_tasks`: a function that takes a `TaskHost` and the arguments that
the studio was started with for it, and returns a `Task`. It need not import the studio.
"""

import functools
import importlib.metadata
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final, Protocol

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.anonymous import PURPOSE, agent_id
from rlds_kit.studio.accounts.secret import derived
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.settings import Settings

with needs("studio"):
    from starlette.requests import HTTPConnection
    from starlette.routing import BaseRoute

GROUP: Final = "rlds_kit.studio_tasks"


@dataclass(frozen=True, slots=True)
class Person:
    """The person who does a task.

    Attributes:
      id: a pseudonym, always the same for this person in this task; recordings contain no names.
      is_designer: whether this person may set up the task, and see the results of others.
    """

    id: str
    is_designer: bool


@dataclass(frozen=True, slots=True)
class TaskHost:
    """The services of a studio for a task.

    Attributes:
      name: of the task.
      directory: where it may write.
      modules: that register environments.
    """

    name: str
    directory: Path
    modules: tuple[str, ...]

    def person(self, connection: HTTPConnection) -> Person:
        """The person who sent a request, or opened a WebSocket.

        Raises:
          ApiError: the request has no login.
        """
        account = account_of(connection)
        secret = derived(connection.app.state.secret, PURPOSE)
        return Person(agent_id(secret, f"task {self.name}", account.id), account.role is Role.DESIGNER)


class Task(Protocol):
    """A task of a studio.

    Attributes:
      name: in addresses: its routes are below `/api/tasks/NAME` and `/ws/tasks/NAME`, its page is `#task-NAME`.
      title: in the navigation.
      page: the folder of its files; `view.js` there exports `View`, a component of Preact.
      routes: routes of Starlette. All need a login.
      datasets: directories of recorded data that its page shows: every user who is logged in may see them.
    """

    name: str
    title: str
    page: Traversable
    routes: Sequence[BaseRoute]
    datasets: Sequence[Path]

    async def close(self) -> None:
        """Stops all activity; called once, when the studio ends."""


Opener = Callable[[TaskHost, Sequence[str]], Task]


@functools.cache
def installed() -> Mapping[str, importlib.metadata.EntryPoint]:
    """The tasks that are installed, by name."""
    return {each.name: each for each in importlib.metadata.entry_points(group=GROUP)}


def wanted(given: Iterable[str]) -> dict[str, list[str]]:
    """The arguments of each task.

    >>> wanted(["train", "judge=data/a", "judge=data/b"])
    {'train': [], 'judge': ['data/a', 'data/b']}
    """
    found = defaultdict[str, list[str]](list)
    for each in given:
        name, is_given, argument = each.partition("=")
        found[name].extend([argument] if is_given else [])
    return dict(found)


def opened(settings: Settings) -> list[Task]:
    """The tasks of a studio.

    Raises:
      KeyError: a task is not installed.
    """
    tasks = []
    for name, arguments in wanted(settings.tasks).items():
        opener: Opener = installed()[name].load()
        tasks.append(opener(TaskHost(name, settings.directory / "tasks" / name, settings.modules), arguments))
    return tasks
