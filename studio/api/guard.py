"""The middleware before all routes: authenticates requests, checks their origin, and limits their rate.

It refuses requests with a foreign Host (else another site could point its own name at this server), changes that pages
of other sites send, and too many requests. It finds the account of each request and WebSocket, which `account_of`
returns.
"""

from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.base.rate_limit import RateLimiter
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.signing import BadTokenError
from rlds_kit.studio.api.answer import as_api_error, refusal
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.database.errors import NotFoundError
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.studio.settings import Settings

with needs("studio"):
    from starlette.requests import HTTPConnection
    from starlette.types import ASGIApp, Receive, Scope, Send

LOCAL_NAMES: Final = frozenset({"localhost", "127.0.0.1", "[::1]"})
_READING: Final = frozenset({"GET", "HEAD", "OPTIONS"})
_WITH_ACCOUNTS: Final = ("/api/", "/ws/")
_OPEN: Final = frozenset({"/api/about", "/api/login"})
_OPEN_BELOW: Final = ("/api/open-studies/", "/api/crowd/arrivals")
"""Paths that need no login."""


def account_of(connection: HTTPConnection) -> Account:
    """The account of a request.

    Raises:
      ApiError: the person is not logged in.
    """
    found: Account | None = connection.scope.get("account")
    if found is None:
        raise ApiError(401, "login", "log in first")
    return found


def address_of(connection: HTTPConnection) -> str:
    """The address that a request comes from."""
    return "" if connection.client is None else connection.client.host


class Guard:
    """ASGI middleware.

    Args:
      app: the application behind it.
      settings: of the studio.
    """

    def __init__(self, app: ASGIApp, settings: Settings) -> None:
        self._app, self._settings = app, settings
        self._requests = RateLimiter(settings.request_limit)
        self._changes = RateLimiter(settings.change_limit)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Passes a request on, or refuses it."""
        if scope["type"] in {"http", "websocket"}:
            connection = HTTPConnection(scope)
            try:
                await self._check(connection)
            except Exception as error:
                found = as_api_error(error)
                if found.status == 500:
                    raise
                await _refuse(found, scope, receive, send)
                return
        await self._app(scope, receive, send)

    async def _check(self, connection: HTTPConnection) -> None:
        self._check_host(connection)
        path: str = connection.scope["path"]
        if "\0" in path or b"%00" in connection.scope["query_string"]:
            raise ApiError(400, "invalid", "an address has no character 0; not every database can search for it")
        if not path.startswith(_WITH_ACCOUNTS):
            return  # the files of the page: many at once, for a whole class behind one address
        try:
            account = await self._account(connection)
        except BadTokenError:
            _count(self._requests, address_of(connection))
            raise
        # Invited people have limits of their own: other clients at the same address cannot lock them out.
        is_invited = account is not None and not account.is_guest
        _count(self._requests, f"account {account.id}" if account and is_invited else address_of(connection))
        is_change = connection.scope["type"] == "websocket" or connection.scope["method"] not in _READING
        if is_change and "authorization" not in connection.headers:
            self._check_origin(connection)
        connection.scope["account"] = account
        if path not in _OPEN and not path.startswith(_OPEN_BELOW):
            confine = connection.app.state.confine
            if confine is not None:
                confine(account_of(connection), path)
            account_of(connection)  # so that no route can forget it, and tokens of sessions end with the login
        if is_change and account is not None:
            _count(self._changes, account.id)

    def _check_host(self, connection: HTTPConnection) -> None:
        name = _without_port(connection.headers.get("host", ""))
        if name not in LOCAL_NAMES and name not in self._settings.hosts:
            raise ApiError(
                421, "host", f"this studio is not called {name!r}; start it with this name among its hosts", "host"
            )

    def _check_origin(self, connection: HTTPConnection) -> None:
        origin = connection.headers.get("origin", "")
        own = {f"{scheme}://{connection.headers['host']}" for scheme in ("http", "https")}
        if origin not in own and origin not in self._settings.origins:
            raise ApiError(
                403,
                "origin",
                f"expected this from a page of the studio, got the origin {origin!r}; programs send the token of a "
                "login as Authorization: Bearer TOKEN",
                "origin",
            )

    async def _account(self, connection: HTTPConnection) -> Account | None:
        """The account of a request: by the header, which must be valid, or by the cookie."""
        state = connection.app.state
        scheme, _, bearer = connection.headers.get("authorization", "").partition(" ")
        if scheme:
            if scheme.lower() != "bearer":
                raise ApiError(401, "bad_token", "expected Authorization: Bearer TOKEN", "authorization")
            token = state.signer.read(Kind.ACCESS, bearer.strip())
            try:
                found: Account = await state.database.run(login.identify, token)
            except NotFoundError as error:
                raise BadTokenError(str(error)) from error
            return found
        cookie = connection.cookies.get(state.signer.cookie)
        if cookie:
            try:
                return await state.database.run(login.identify, state.signer.read(Kind.ACCESS, cookie))  # type: ignore[no-any-return]
            except (BadTokenError, NotFoundError):
                pass  # an outdated cookie is ignored
        return None


def _without_port(host: str) -> str:
    name, _, port = host.lower().rpartition(":")
    return name if name and port.isdigit() else host.lower()


def _count(limiter: RateLimiter, key: str) -> None:
    seconds = limiter.wait(key)
    if seconds:
        raise ApiError(429, "too_many", f"too many requests; try again in {seconds:.1f} seconds", retry_seconds=seconds)


async def _refuse(error: ApiError, scope: Scope, receive: Receive, send: Send) -> None:
    if scope["type"] == "websocket":
        await receive()
        await send({"type": "websocket.close", "code": 4000 + error.status, "reason": error.code})
    else:
        await refusal(error)(scope, receive, send)
