"""The application of a service: from requests to operations, and from errors to answers."""

import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.trials.actors.actor_pool import ActorError
from rlds_kit.trials.directory.entry import UnknownServiceError, WrongSecretError
from rlds_kit.trials.hosts.finished_trial import TrialRefusedError
from rlds_kit.trials.service.api import OPERATIONS
from rlds_kit.trials.service.openapi import document
from rlds_kit.trials.service.operations import Call, Operation
from rlds_kit.trials.service.service import Service
from rlds_kit.trials.service.settings import ServiceSettings
from rlds_kit.trials.service.socket import Program
from rlds_kit.trials.service.tokens import BadTokenError, Token
from rlds_kit.trials.wire.reading import read, write
from rlds_kit.trials.wire.requests import Problem
from rlds_kit.trials.wire.values import WireError

with needs("trials"):
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route, WebSocketRoute
    from starlette.websockets import WebSocket

log = logging.getLogger(__name__)
MOST_BYTES: Final = 1 << 20
"""Of the body of a request."""
_JSON: Final = "application/json"
_SEPARATOR: Final = "\n"
"""Of problems in one text."""


def create_application(settings: ServiceSettings) -> Starlette:
    """An ASGI application, whose service is `app.state.service` while it runs.

    Args:
      settings: of the service.
    """
    schema = write(document(OPERATIONS))

    @contextlib.asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.service = Service(settings)
        try:
            yield
        finally:
            await app.state.service.close()

    async def openapi(request: Request) -> Response:
        del request
        return Response(schema, media_type=_JSON)

    async def seat(socket: WebSocket) -> None:
        await Program(socket.app.state.service, socket).run()

    routes = [Route(each.path, _endpoint(each), methods=[each.method]) for each in OPERATIONS]
    return Starlette(
        routes=[*routes, Route("/openapi.json", openapi), WebSocketRoute("/v1/seat", seat)],
        lifespan=lifespan,
        exception_handlers={HTTPException: _http_problem, Exception: _defect},
    )


def _endpoint(operation: Operation) -> Callable[[Request], Awaitable[Response]]:
    async def endpoint(request: Request) -> Response:
        service: Service = request.app.state.service
        try:
            answer = await _answered(operation, service, request)
        except HTTPException:
            service.metrics.refused()
            raise
        except Exception as error:
            status = _status(error, {*request.path_params.values(), *request.query_params.getlist("trial")})
            if status is None:
                raise
            service.metrics.refused()
            raise HTTPException(status, _text(error)) from error
        if isinstance(answer, Response):
            return answer
        return Response(write(answer), operation.status, media_type=_JSON)

    return endpoint


async def _answered(operation: Operation, service: Service, request: Request) -> Any:
    token = None if operation.role is None else _token(operation, service, request)
    body = None if operation.body is None else read(operation.body, await _body(request))
    query = {key: request.query_params.getlist(key) for key in request.query_params}
    strangers = query.keys() - operation.query.keys()
    if strangers:
        raise WireError(f"expected the parameters {sorted(operation.query)}, got {sorted(strangers)}")
    return await operation.run(Call(service=service, token=token, path=request.path_params, query=query, body=body))


def _token(operation: Operation, service: Service, request: Request) -> Token:
    kind, _, text = request.headers.get("Authorization", "").partition(" ")
    if kind.lower() != "bearer":
        raise BadTokenError("expected a header 'Authorization: Bearer TOKEN'; `rlds-kit trials token` makes a token")
    token = service.token(text.strip())
    if seconds := service.limiter.wait(token.name):
        raise HTTPException(429, f"{token.name} sends too much", {"Retry-After": f"{seconds:.0f}"})
    if operation.role is not None and not token.role.includes(operation.role):
        raise HTTPException(403, f"expected a token of an {operation.role.value}, got one of a {token.role.value}")
    return token


async def _body(request: Request) -> bytes:
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > MOST_BYTES:
            raise HTTPException(413, f"expected at most {MOST_BYTES} bytes")
    return bytes(body)


def _status(error: Exception, trials: set[str]) -> int | None:
    """The status of an error of a request that names trials; None: it is a defect."""
    if isinstance(error, BadTokenError):
        return 401
    if isinstance(error, TrialRefusedError | ActorError):
        return 409
    if isinstance(error, KeyError) and error.args and error.args[0] in trials:
        return 404
    if isinstance(error, UnknownServiceError):
        return 404
    if isinstance(error, WrongSecretError):
        return 403
    if isinstance(error, RldsKitError):
        return 400
    return 409 if isinstance(error, ValueError) else None


def _text(error: Exception) -> str:
    if isinstance(error, WireError):
        return str(error).replace("; ", _SEPARATOR)
    return f"there is no trial {error.args[0]!r}" if isinstance(error, KeyError) else str(error)


async def _http_problem(request: Request, error: Exception) -> Response:
    del request
    if not isinstance(error, HTTPException):
        raise error
    return _problem(error.status_code, error.detail, dict(error.headers or {}))


async def _defect(request: Request, error: Exception) -> Response:
    log.error("%s %s", request.method, request.url.path, exc_info=error)
    return _problem(500, "the service has a defect; its log has the details", {})


def _problem(status: int, text: str, headers: dict[str, str]) -> Response:
    return Response(write(Problem(problems=tuple(text.split(_SEPARATOR)))), status, headers, media_type=_JSON)
