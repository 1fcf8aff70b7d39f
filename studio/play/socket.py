"""The WebSocket of a window, of a player or an observer: `/ws/play`."""

import asyncio
import contextlib
import math
import secrets
from collections.abc import Collection
from typing import Final
from urllib.parse import urlsplit

from rlds_kit.base.extras import needs
from rlds_kit.base.rate_limit import Limit, RateLimiter
from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.studio.play import from_browser, window
from rlds_kit.studio.play.host import Admission, Host, NotAdmittedError
from rlds_kit.studio.play.live_session import LiveSession
from rlds_kit.studio.play.live_sessions import LiveSessions
from rlds_kit.studio.play.receiving import receive
from rlds_kit.studio.play.to_browser import Error, dump
from rlds_kit.studio.play.window import Window

with needs("studio"):
    from starlette.routing import WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

PATH: Final = "/ws/play"
HELLO_SECONDS: Final = 10.0
MESSAGES_PER_SECOND: Final = 500.0


def play_route(
    sessions: LiveSessions,
    host: Host,
    *,
    origins: Collection[str] = (),
    messages_per_second: float = MESSAGES_PER_SECOND,
) -> WebSocketRoute:
    """The route of the socket.

    Args:
      sessions: that it leads to.
      host: decides who may join.
      origins: pages of other origins that may connect, such as "https://example.org"; the server's own always may.
      messages_per_second: that a window may send.
    """

    async def serve(socket: WebSocket) -> None:
        if not _is_allowed(socket, origins):
            await socket.close(window.NOT_ADMITTED, "a page of another origin")
            return
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # what Starlette raises for a socket that is gone
            entered = await _enter(socket, sessions, host)
            if entered is not None:
                await _serve(
                    socket, *entered, RateLimiter(Limit(messages_per_second, burst=math.ceil(2 * messages_per_second)))
                )

    return WebSocketRoute(PATH, serve)


def _is_allowed(socket: WebSocket, origins: Collection[str]) -> bool:
    """Browsers always say which page connects; other programs need not."""
    origin = socket.headers.get("origin")
    return origin is None or origin in origins or urlsplit(origin).netloc == socket.headers.get("host")


async def _enter(socket: WebSocket, sessions: LiveSessions, host: Host) -> tuple[LiveSession, Window] | None:
    """Takes the first message; None if it gives no right to play."""
    try:
        async with asyncio.timeout(HELLO_SECONDS):
            hello = from_browser.read(await _receive(socket))
    except TimeoutError:
        await socket.close(window.NO_HELLO, "no hello came")
        return None
    except from_browser.InvalidMessageError as error:
        await _refuse(socket, error.error)
        return None
    if not isinstance(hello, from_browser.Hello):
        await _refuse(socket, Error("hello", "expected hello first", "type"))
        return None
    try:
        admission = await host.admit(hello.token)
        _require_own(socket, admission)
        session = await sessions.of(admission.session, admission.holder, is_guest=admission.is_guest)
    except NotAdmittedError as error:
        await _refuse(socket, Error(error.code, str(error)))
        return None
    return session, Window(secrets.token_hex(8), admission, wants_ahead=hello.ahead)


def _require_own(socket: WebSocket, admission: Admission) -> None:
    """Refuses a token that was given to another account: it may have been copied from a log or a browser.

    Raises:
      NotAdmittedError: it was.
    """
    account = socket.scope.get("account")
    if admission.account is not None and (account is None or account.id != admission.account):
        raise NotAdmittedError("account", "this session is another person's; open the study yourself to play")


async def _refuse(socket: WebSocket, error: Error) -> None:
    await socket.send_text(dump(error))
    await socket.close(window.NOT_ADMITTED, error.code)


async def _receive(socket: WebSocket) -> str | bytes:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text: str | None = message.get("text")
    return message["bytes"] if text is None else text


async def _serve(socket: WebSocket, session: LiveSession, entering: Window, limiter: RateLimiter) -> None:
    """Reads and writes until one of both is over; a person whose socket is gone may come back."""
    session.enter(entering)
    tasks = {
        asyncio.create_task(_read(socket, session, entering, limiter)),
        asyncio.create_task(entering.send_all(socket)),
    }
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        session.leave(entering, is_lost=True)
        await cancel_and_wait(*tasks)
    for task in done:
        task.result()


async def _read(socket: WebSocket, session: LiveSession, entering: Window, limiter: RateLimiter) -> None:
    while True:
        data = await _receive(socket)
        await limiter.pause("messages")
        await asyncio.sleep(0)  # what was answered is sent first: many messages at once come here without a pause
        try:
            message = from_browser.read(data)
        except from_browser.InvalidMessageError as error:
            entering.send(error.error)
            continue
        if isinstance(message, from_browser.Hello):
            entering.send(Error("hello", "you were admitted already", "type"))
        else:
            receive(session, entering, message)
