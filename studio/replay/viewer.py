"""The server of `rlds-kit view`: one dataset, one person, this machine."""

import asyncio
import contextlib
import hmac
import secrets
import socket
import uuid
from collections.abc import AsyncIterator, Callable, Sequence
from http import HTTPStatus
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.api.answer import answer, refusal
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.page_files import page_routes
from rlds_kit.studio.replay.answers import answered
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.drawing import Drawings
from rlds_kit.studio.replay.library import Admitted, Deed
from rlds_kit.studio.replay.review import Review
from rlds_kit.studio.replay.routes import replay_routes
from rlds_kit.studio.replay.table import Table

with needs("studio"):
    import uvicorn
    from starlette.applications import Starlette
    from starlette.concurrency import run_in_threadpool
    from starlette.datastructures import Headers, MutableHeaders
    from starlette.middleware import Middleware
    from starlette.requests import HTTPConnection, Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

HOST: Final = "127.0.0.1"
SAFE: Final = {"GET", "HEAD"}


class Local:
    """Admits requests with the token, and only from pages of this server.

    The printed link has the token; the first response sets it as a cookie, whose name has the port, because cookies do
    not distinguish ports. Host names are checked, or another site could point its own name here (DNS rebinding); so is
    the origin of every request that writes.

    Args:
      app: the application behind it.
      token: the secret.
      port: where the server listens.
    """

    def __init__(self, app: ASGIApp, token: str, port: int) -> None:
        self._app, self._token, self.cookie = app, token, f"rlds_kit_view_{port}"
        self._hosts = {f"{name}:{port}" for name in (HOST, "localhost")}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        problem = self._problem(scope)
        if problem is None:
            await self._app(scope, receive, self._with_cookie(scope, send))
        elif scope["type"] == "websocket":
            await receive()
            await send({"type": "websocket.close", "code": 4403, "reason": problem})
        else:
            await refusal(ApiError(403, "refused", problem, scope["path"]))(scope, receive, send)

    def _problem(self, scope: Scope) -> str | None:
        headers, is_socket = Headers(scope=scope), scope["type"] == "websocket"
        if headers.get("host") not in self._hosts:
            return "expected the address that `rlds-kit view` printed"
        if is_socket or scope["method"] not in SAFE:
            origin = headers.get("origin", "")
            if origin not in {f"http://{host}" for host in self._hosts}:
                return "expected a request of the page itself"
        is_page = scope["path"] == "/" or scope["path"].startswith("/page/")
        if is_page or self._has_token(HTTPConnection(scope)):
            return None
        return "expected the token: open the whole link that `rlds-kit view` printed"

    def _has_token(self, connection: HTTPConnection) -> bool:
        given = (connection.cookies.get(self.cookie), connection.query_params.get("token"))
        return any(hmac.compare_digest(each.encode(), self._token.encode()) for each in given if each)

    def _with_cookie(self, scope: Scope, send: Send) -> Send:
        """Sets the cookie when the link is opened."""
        if scope["type"] != "http" or scope["path"] != "/" or not self._has_token(HTTPConnection(scope)):
            return send

        async def sending(message: Message) -> None:
            if message["type"] == "http.response.start":
                attributes = "Path=/; HttpOnly; SameSite=Strict"
                MutableHeaders(scope=message)["Set-Cookie"] = f"{self.cookie}={self._token}; {attributes}"
            await send(message)

        return sending


class OneDataset:
    """A `Library` of one collection, in which every admitted user may do everything."""

    def __init__(self, collection: Collection, source: str) -> None:
        self._admitted = Admitted(collection, source, can_retract_all=True, is_listed=True)

    async def admit(self, _connection: HTTPConnection, _deed: Deed, _episode: uuid.UUID) -> Admitted:
        """Admits every request; the collection reports unknown episodes."""
        return self._admitted

    async def annotated(self, _episode: uuid.UUID, _labels: Sequence[str]) -> None:
        """Does nothing: the table reads labels itself."""


def application(collection: Collection, source: str, token: str, port: int) -> Starlette:
    """The server for a collection.

    Besides the requests that `routes` lists it has `GET /api/about`: `{"mode": "view", "dataset", "path", "source"}`,
    and `GET /api/episodes`: see `Table.page`.

    Args:
      collection: that is shown.
      source: the source of new annotations.
      token: a user who has it may see and annotate everything.
      port: where it will listen.
    """
    table, review, drawings = Table(collection), Review(), Drawings()

    async def episodes(request: Request) -> Response:
        return answer(await run_in_threadpool(table.page, dict(request.query_params)))

    async def about(_: Request) -> Response:
        path = collection.dataset.path
        title = str(collection.dataset.description.get("name") or path.name)
        return answer({"mode": "view", "dataset": title, "path": str(path), "source": source})

    async def refuse(request: Request, error: Exception) -> Response:
        status = getattr(error, "status_code", 500)
        code = HTTPStatus(status).name.lower()
        return refusal(ApiError(status, code, f"{request.method} {request.url.path}: {code}", request.url.path))

    @contextlib.asynccontextmanager
    async def life(_: Starlette) -> AsyncIterator[None]:
        yield
        await review.close()
        await run_in_threadpool(drawings.close)
        await run_in_threadpool(collection.close)

    return Starlette(
        routes=[
            *page_routes(),
            Route("/api/about", answered(about)),
            Route("/api/episodes", answered(episodes)),
            *replay_routes(OneDataset(collection, source), review, drawings),
        ],
        middleware=[Middleware(Local, token=token, port=port)],
        exception_handlers={404: refuse, 405: refuse, 500: refuse},
        lifespan=life,
    )


class Viewer:
    """Serves a collection on this machine.

    Args:
      collection: that is shown.
      source: the source of new annotations.
      port: where to listen; 0: any free one.

    Raises:
      OSError: the port is in use.

    Attributes:
      url: the link to open.
    """

    def __init__(self, collection: Collection, source: str, port: int = 0) -> None:
        self._socket = _listening(port)
        port = self._socket.getsockname()[1]
        token = secrets.token_urlsafe(16)
        self.url = f"http://{HOST}:{port}/?token={token}"
        config = uvicorn.Config(
            application(collection, source, token, port),
            log_config=None,  # uvicorn's own would close all handlers of the program, some with their streams
            log_level="warning",
            lifespan="on",
            ws="websockets-sansio",
            timeout_graceful_shutdown=1,
        )
        self._server = _Server(config)

    def run(self, ready: Callable[[], None] = lambda: None) -> None:
        """Serves until Ctrl-C or `stop`.

        Args:
          ready: called when the server answers.
        """
        self._server.ready = ready
        asyncio.run(self._server.serve(sockets=[self._socket]))

    def stop(self) -> None:
        """Ends `run`; may be called from another thread."""
        self._server.should_exit = True


class _Server(uvicorn.Server):
    """Reports when it answers."""

    ready: Callable[[], None]

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begins to listen."""
        await super().startup(sockets)
        self.ready()


def _listening(port: int) -> socket.socket:
    found = socket.socket()
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind((HOST, port))
    except OSError:
        found.close()
        raise
    return found
