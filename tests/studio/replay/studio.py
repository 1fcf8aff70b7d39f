"""A studio that consists only of a database, recordings, the replay and exports."""

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.testclient import TestClient
from starlette.types import ASGIApp, Receive, Scope, Send

from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.api.answer import HANDLERS
from rlds_kit.studio.database import episodes, sessions, tables, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.export.choosing import deleted
from rlds_kit.studio.export.exports import Exports
from rlds_kit.studio.export.routes import export_routes
from rlds_kit.studio.export_limits import ExportLimits
from rlds_kit.studio.recordings import Recordings
from rlds_kit.studio.replay.drawing import Drawings
from rlds_kit.studio.replay.review import Review
from rlds_kit.studio.replay.routes import replay_routes
from rlds_kit.studio.settings import Settings
from rlds_kit.trials.engine.phase import Status
from tests.studio.database.rows import add_session, add_study
from tests.studio.replay.datasets import record


@dataclass
class Studio:
    """One study with sessions of two participants, and an episode of each."""

    client: TestClient
    directory: Path
    accounts: dict[str, Account]
    episodes: dict[str, str]
    agents: dict[str, str]
    limits: ExportLimits = field(default_factory=ExportLimits)
    now: Callable[[], int] = time.time_ns

    def ask(self, who: str, method: str, path: str, **options: Any) -> Any:
        """Sends a request of a person."""
        return self.client.request(method, path, headers={"x-who": who}, **options)

    def run(self, work: Any, *arguments: Any) -> Any:
        """Runs a function on the database."""
        state = self.client.app.state  # type: ignore[attr-defined]  # Starlette's
        return asyncio.run_coroutine_threadsafe(state.database.run(work, *arguments), state.loop).result(10)

    def tags(self, who: str) -> tuple[str, ...]:
        """The tags of a person's episode in the table of episodes."""
        found: episodes.Episode = self.run(episodes.get, self.episodes[who])
        return found.tags


class Known:
    """Replaces the studio's guard: accepts the account of a request without a check."""

    def __init__(self, app: ASGIApp, accounts: dict[str, Account]) -> None:
        self._app, self._accounts = app, accounts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            scope["account"] = self._accounts.get(dict(scope["headers"]).get(b"x-who", b"").decode())
        await self._app(scope, receive, send)


def fill(connection: Connection, recordings: Path, accounts: dict[str, Account], studio: Studio) -> None:
    """Makes accounts, sessions and episodes."""
    study = add_study(connection)
    owner = users.get(connection, study.owner_id)
    accounts["owner"] = login.link(connection, owner.id).account
    for who, role in (("designer", Role.DESIGNER), ("reviewer", Role.REVIEWER)):
        accounts[who] = login.link(connection, users.add(connection, role, who).id).account
    for who in ("ann", "bob"):
        session = add_session(connection, study)
        (recorded,) = record(recordings / "study" / "environment", (6,))
        episode = recorded.replace("-", "")
        episodes.begin(connection, episode, tables.new_id(), 0, session, 1, "study/environment")
        episodes.finish(connection, episode, Status.COMPLETED, "", 5, 10.0)
        accounts[who] = login.link(connection, session.user_id).account
        studio.episodes[who], studio.agents[who] = episode, sessions.get(connection, session.id).agent_id


@contextmanager
def running(tmp_path: Path, before: Studio | None = None) -> Iterator[Studio]:
    """A studio; it has the same data again if it is restarted."""
    recordings_path = tmp_path / "recordings"
    studio = before or Studio(None, recordings_path, {}, {}, {})  # type: ignore[arg-type]  # the client comes below
    accounts = studio.accounts

    @asynccontextmanager
    async def life(app: Starlette) -> AsyncIterator[None]:
        async with await Database.open(f"sqlite:///{tmp_path / 'studio.db'}") as database:
            app.state.database, app.state.loop = database, asyncio.get_running_loop()
            if not await database.run(users.everybody):
                await database.run(fill, recordings_path, accounts, studio)
            recordings, review, drawings = Recordings(recordings_path, database), Review(), Drawings()
            limits = studio.limits
            async with Exports(
                tmp_path / "exports", partial(deleted, database), limits=limits, clock=studio.now
            ) as exports:
                app.router.routes += [
                    *replay_routes(recordings, review, drawings),
                    *export_routes(exports, database, recordings_path),
                ]
                yield
            await review.close()
            await recordings.close()

    app = Starlette(middleware=[Middleware(Known, accounts=accounts)], exception_handlers=dict(HANDLERS), lifespan=life)
    app.state.settings = Settings(directory=tmp_path)
    with TestClient(app) as client:
        studio.client = client
        yield studio
