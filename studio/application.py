"""The studio as an ASGI application.

`app.state` has, from start to end: `settings`; `secret`, and `signer` made of it; `database` (`database.Database`);
`pool` (`workers.pool.WorkerPool`); `actors` (`trials.actors.actor_pool.ActorPool`); `live_sessions`
(`play.live_sessions.LiveSessions`), which people play; `lobbies` (`lobby.lobbies.Lobbies`), where they wait for others;
`tasks` (`tasks.Task`); `inspector` (`api.inspection.Inspector`), which inspects the environments of studies; and
`logins`, the rate limit of logins. `confine` decides what an account of a crowd may not see; None: there is no crowd.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator
from functools import partial
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.base.rate_limit import RateLimiter
from rlds_kit.studio.accounts.anonymous import PURPOSE
from rlds_kit.studio.accounts.secret import derived, secret_of
from rlds_kit.studio.accounts.signing import Signer
from rlds_kit.studio.api import (
    about_routes,
    account_routes,
    environment_routes,
    episode_routes,
    session_routes,
    study_routes,
)
from rlds_kit.studio.api.answer import HANDLERS
from rlds_kit.studio.api.guard import Guard
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.crowd.host import CrowdHost
from rlds_kit.studio.crowd.opening import make_parts, open_desk
from rlds_kit.studio.crowd.presence import Presence
from rlds_kit.studio.database import sessions, tokens
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.engine import FILE, sqlite_url
from rlds_kit.studio.database.errors import DatabaseError
from rlds_kit.studio.deletion import purge
from rlds_kit.studio.directory_lock import locked
from rlds_kit.studio.export.choosing import deleted
from rlds_kit.studio.export.exports import Exports
from rlds_kit.studio.export.routes import export_routes
from rlds_kit.studio.given_datasets import WithDatasets
from rlds_kit.studio.hosting import DatabaseHost
from rlds_kit.studio.lobby.gathering import SessionMaker
from rlds_kit.studio.lobby.lobbies import Lobbies
from rlds_kit.studio.lobby.socket import ROUTE as lobby_route  # noqa: N811  as other modules have functions
from rlds_kit.studio.manuals import routes as manual_routes
from rlds_kit.studio.page_files import page_routes
from rlds_kit.studio.play.live_sessions import LiveSessions
from rlds_kit.studio.play.socket import play_route
from rlds_kit.studio.recordings import Recordings
from rlds_kit.studio.recovery import recover
from rlds_kit.studio.replay.drawing import Drawings
from rlds_kit.studio.replay.review import Review
from rlds_kit.studio.replay.routes import replay_routes
from rlds_kit.studio.settings import Settings
from rlds_kit.studio.tasks import opened
from rlds_kit.trials.actors.actor_pool import ActorPool
from rlds_kit.trials.actors.registry import known_implementations
from rlds_kit.trials.workers.pool import WorkerPool

with needs("studio"):
    from starlette.applications import Starlette
    from starlette.middleware import Middleware
    from starlette.routing import BaseRoute

log = logging.getLogger(__name__)
CROWD_PAGE: Final = "/crowd/{group}"
"""The page for people of a crowd."""
ROUTES: Final[tuple[BaseRoute, ...]] = (
    *about_routes.ROUTES,
    *account_routes.ROUTES,
    *study_routes.ROUTES,
    *environment_routes.ROUTES,
    *session_routes.ROUTES,
    *episode_routes.ROUTES,
    *manual_routes.ROUTES,
)


def create_application(settings: Settings) -> Starlette:
    """The application of a studio; it opens its database and processes when the server starts it.

    Args:
      settings: of the studio; its directory is made if it does not exist.
    """
    tasks = opened(settings)
    app = Starlette(
        routes=[
            *page_routes(
                *([] if settings.crowd is None else [CROWD_PAGE]), tasks={each.name: each.page for each in tasks}
            ),
            *ROUTES,
            *(route for each in tasks for route in each.routes),
        ],
        middleware=[Middleware(Guard, settings=settings)],
        exception_handlers=dict(HANDLERS),
        lifespan=_life,
    )
    app.state.settings, app.state.tasks = settings, tasks
    return app


@contextlib.asynccontextmanager
async def _life(app: Starlette) -> AsyncIterator[None]:
    state, settings = app.state, app.state.settings
    settings.directory.mkdir(0o700, parents=True, exist_ok=True)  # it identifies people
    settings.recordings.mkdir(parents=True, exist_ok=True)
    state.secret = secret_of(settings.directory)
    state.signer = Signer(state.secret)
    state.logins = RateLimiter(settings.login_limit)
    state.confine = None
    anonymous = derived(state.secret, PURPOSE)
    async with contextlib.AsyncExitStack() as stack:
        stack.enter_context(locked(settings.directory))
        url = settings.database or sqlite_url(settings.directory / FILE)
        state.database = await stack.enter_async_context(await Database.open(url))
        await state.database.run(tokens.forget_expired)
        await purge(state.database, settings.recordings, settings.name)
        await recover(state.database, settings.recordings, settings.name, anonymous)
        state.pool = await stack.enter_async_context(
            WorkerPool(
                settings.workers,
                environments_per_worker=settings.environments_per_worker,
                answer_seconds=settings.answer_seconds,
            )
        )
        state.actors = await stack.enter_async_context(ActorPool())
        state.inspector = Inspector(
            settings.modules,
            settings.answer_seconds,
            actors={*known_implementations(), *settings.actors},
            matchmakers=settings.matchmakers,
        )
        stack.push_async_callback(state.inspector.close)
        host = await _host(app, anonymous)
        state.live_sessions = LiveSessions(
            state.pool,
            host,
            actors=state.actors,
            sessions_per_person=settings.sessions_per_person,
            guests=settings.guests,
        )
        stack.push_async_callback(_end, app, host)
        for each in state.tasks:
            stack.push_async_callback(each.close)
        desk = host.desk if isinstance(host, CrowdHost) else None
        maker = SessionMaker(state.database, state.signer, state.live_sessions, settings.name, desk)
        state.lobbies = await stack.enter_async_context(Lobbies(maker.of))
        recordings, review = Recordings(settings.recordings, state.database), Review()
        stack.push_async_callback(recordings.close)
        library = WithDatasets(recordings, [path for each in state.tasks for path in each.datasets])
        stack.push_async_callback(review.close)
        drawings = Drawings(settings.modules)
        stack.push_async_callback(asyncio.to_thread, drawings.close)
        exports = await stack.enter_async_context(
            Exports(settings.exports, partial(deleted, state.database), limits=settings.exports_limits)
        )
        if isinstance(host, CrowdHost):
            parts = make_parts(host, state, anonymous)
            state.parts, state.confine = parts, parts.confine
            await stack.enter_async_context(parts.watched())
            app.router.routes += parts.routes()
        app.router.routes += [
            lobby_route,
            play_route(state.live_sessions, host, origins=settings.origins),
            *replay_routes(library, review, drawings),
            *export_routes(exports, state.database, settings.recordings),
        ]
        yield


async def _host(app: Starlette, anonymous: bytes) -> DatabaseHost:
    """What runs games; with a crowd, also the games of the crowd."""
    state, settings = app.state, app.state.settings
    parts = settings, state.database, state.signer, state.inspector, anonymous
    if settings.crowd is None:
        return DatabaseHost(*parts)
    desk = await open_desk(
        settings.crowd, state.database, state.inspector, state.secret, is_file_taken=settings.is_crowd_file_taken
    )
    return CrowdHost(*parts, desk=desk, presence=Presence())


async def _end(app: Starlette, host: DatabaseHost) -> None:
    """Ends the episodes that are being played, and then all sessions."""
    await app.state.live_sessions.close()
    try:
        await app.state.database.run(sessions.end_all, app.state.settings.name, host.unfinished)
    except DatabaseError:
        log.exception("the sessions are ended when the studio starts again")
