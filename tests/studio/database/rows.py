"""Rows for tests of the database."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import TypeVar

from sqlalchemy import Connection

from rlds_kit.studio.database import episodes, sessions, studies, tables, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.studies import Content, Study, StudyEnvironment
from rlds_kit.trials.engine.phase import Status

T = TypeVar("T")
CART = StudyEnvironment(name="Cart", environment="CartPole-v1", kwargs={"sutton_barto_reward": True}, max_steps=100)
LAKE = StudyEnvironment(name="Lake", instructions="Stay dry.", environment="FrozenLake-v1", turn="press", fps=30.0)


def run(url: str, test: Callable[[Database], Awaitable[T]]) -> T:
    """Runs a test with a database."""

    async def whole() -> T:
        async with await Database.open(url) as database:
            return await test(database)

    return asyncio.run(whole())


def content(name: str = "Balance", *environments: StudyEnvironment) -> Content:
    """Of a study."""
    return Content(name=name, description="short", instructions="Do it.", environments=environments or (CART,))


def add_study(connection: Connection, name: str = "Balance", *environments: StudyEnvironment) -> Study:
    """A study of a new designer."""
    owner = users.add(connection, Role.DESIGNER, "dora")
    return studies.add(connection, owner.id, content(name, *environments))


def add_session(connection: Connection, study: Study, player: str | None = None, server: str = "one") -> Session:
    """A session of a new or an existing participant."""
    user = player or users.add(connection, Role.PARTICIPANT, "pat").id
    return sessions.add(connection, study.id, study.content.environments[0].id, user, tables.new_id(), server)


def begin_episode(connection: Connection, session: Session) -> str:
    """An episode that is being played."""
    number = sessions.next_number(connection, session.id)
    episode = tables.new_id()
    episodes.begin(connection, episode, tables.new_id(), number, session, 1, "study/environment")
    return episode


def add_episode(
    connection: Connection, session: Session, steps: int = 5, status: Status = Status.COMPLETED, total: float = 1.0
) -> str:
    """An episode that has ended."""
    episode = begin_episode(connection, session)
    episodes.finish(connection, episode, status, "", steps, total)
    return episode
