"""The WebSocket of a person who waits: `/ws/lobby`."""

import asyncio
import contextlib
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.anonymous import PURPOSE, agent_id
from rlds_kit.studio.accounts.permissions import Action, ForbiddenError, require
from rlds_kit.studio.accounts.secret import derived
from rlds_kit.studio.database import studies, users
from rlds_kit.studio.database.errors import DatabaseError, NotFoundError
from rlds_kit.studio.database.studies import StudyEnvironment
from rlds_kit.studio.lobby.gathering import plan_of
from rlds_kit.studio.lobby.lobby import Person
from rlds_kit.studio.lobby.messages import Matched, Message, Refused, Wait, dump, read

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.routing import WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

PATH: Final = "/ws/lobby"
OVER: Final = 4000
NOT_ADMITTED: Final = 4003
HELLO_SECONDS: Final = 10.0


async def wait(socket: WebSocket) -> None:
    """Makes a person wait until they play, or leave."""
    await socket.accept()
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # what Starlette raises for a socket that is gone
        try:
            async with asyncio.timeout(HELLO_SECONDS):
                wanted = read(await _received(socket))
        except TimeoutError:
            wanted = None
        if wanted is None:
            await refuse(socket, Refused("type", "expected the message wait first"))
            return
        state, account = socket.app.state, socket.scope["account"]
        try:
            found = await state.database.run(_wanted, account, wanted, derived(state.secret, PURPOSE))
        except (NotFoundError, ForbiddenError, DatabaseError) as error:
            await refuse(socket, Refused("closed", str(error)))
            return
        await wait_in(socket, account, *found)


async def wait_in(
    socket: WebSocket,
    account: Account,
    environment: StudyEnvironment,
    agent: str,
    *,
    latency_ms: float | None = None,
    group: str = "",
) -> None:
    """Makes a person wait in the lobby of an environment; returns when they wait no more. See `Person`."""
    messages: asyncio.Queue[Message] = asyncio.Queue()
    person = Person(account.id, agent, account.is_guest, messages.put_nowait, latency_ms=latency_ms, group=group)
    lobbies = socket.app.state.lobbies
    lobbies.enter(environment.id, plan_of(environment), person)
    leaving = asyncio.create_task(_left(socket))
    try:
        while True:
            getting = asyncio.create_task(messages.get())
            await asyncio.wait({getting, leaving}, return_when=asyncio.FIRST_COMPLETED)
            if not getting.done():
                getting.cancel()
                return
            message = getting.result()
            await socket.send_text(dump(message))
            if isinstance(message, Matched | Refused):
                await socket.close(OVER if isinstance(message, Matched) else NOT_ADMITTED, message.type)
                return
    finally:
        leaving.cancel()
        lobbies.leave(environment.id, person)


async def _left(socket: WebSocket) -> None:
    """Returns when the person is gone; what they send means nothing."""
    with contextlib.suppress(WebSocketDisconnect):
        while True:
            await _received(socket)


async def _received(socket: WebSocket) -> str | bytes:
    message = await socket.receive()
    if message["type"] == "websocket.disconnect":
        raise WebSocketDisconnect(message.get("code", 1005))
    text: str | None = message.get("text")
    return message["bytes"] if text is None else text


async def refuse(socket: WebSocket, refused: Refused) -> None:
    """Sends a person away who does not wait yet."""
    await socket.send_text(dump(refused))
    await socket.close(NOT_ADMITTED, refused.code)


def _wanted(connection: Connection, account: Account, wanted: Wait, secret: bytes) -> tuple[StudyEnvironment, str]:
    """The environment that a person wants to play in, and their id in its study."""
    study = studies.get(connection, wanted.study)
    require(account, Action.STUDY_PLAY, study)
    for each in study.content.environments:
        if each.id == wanted.environment and len(each.human_seats) > 1:
            return each, agent_id(secret, study.id, users.get(connection, account.id).person)
    raise NotFoundError(f"the study has no environment {wanted.environment} for several people; load it again")


ROUTE: Final = WebSocketRoute(PATH, wait)
