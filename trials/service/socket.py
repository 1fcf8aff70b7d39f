"""The WebSocket by which a program takes a seat."""

import asyncio
import contextlib
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.base.tasks import cancel_and_wait
from rlds_kit.trials.directory.joining import joined
from rlds_kit.trials.service.remote_seat import RemoteSeat
from rlds_kit.trials.service.remote_seats import NoSeatError
from rlds_kit.trials.service.service import Service
from rlds_kit.trials.service.tokens import BadTokenError, Role, Token
from rlds_kit.trials.wire.messages import Act, Ended, Join, Leave, Refused
from rlds_kit.trials.wire.reading import FROM_PROGRAM, read, read_any, write
from rlds_kit.trials.wire.values import WireError

with needs("trials"):
    from starlette.websockets import WebSocket, WebSocketDisconnect

JOIN_SECONDS: Final = 30.0
"""For the first message."""
POLICY: Final = 1008
"""The code of a connection that is closed for what it sent."""


class Program:
    """A program at the other end.

    Args:
      service: that it uses.
      socket: the connection.
    """

    def __init__(self, service: Service, socket: WebSocket) -> None:
        self._service, self._socket = service, socket
        self._lock = asyncio.Lock()

    async def send(self, message: Any) -> None:
        """Sends a message.

        Raises:
          OSError: the connection is lost.
        """
        try:
            async with self._lock:
                await self._socket.send_text(write(message).decode())
        except (RuntimeError, WebSocketDisconnect) as error:  # what Starlette raises
            raise ConnectionError("the connection to the program is lost") from error

    async def _receive(self) -> str | bytes:
        message = await self._socket.receive()
        if message["type"] == "websocket.disconnect":
            raise WebSocketDisconnect(message.get("code", 1006))
        found: str | bytes = message.get("text") or message.get("bytes") or ""
        return found

    async def run(self) -> None:
        """From its first message to its last."""
        await self._socket.accept()
        with contextlib.suppress(WebSocketDisconnect, ConnectionError, RuntimeError):
            try:
                async with asyncio.timeout(JOIN_SECONDS):
                    join = read(Join, await self._receive())
                token = self._token(join)
                seat = await self._join(join, token)
            except (WireError, BadTokenError, NoSeatError, TimeoutError) as error:
                self._service.metrics.refused()
                await self.send(Refused(reason=str(error) or f"expected a message in {JOIN_SECONDS:g} seconds"))
                await self._socket.close(POLICY)
                return
            await self._play(seat, token)

    def _token(self, join: Join) -> Token:
        token = self._service.token(join.token)
        if not token.role.includes(Role.ACTOR):
            raise BadTokenError(f"expected a token of an actor, got one of a {token.role.value}")
        if self._service.limiter.wait(token.name):
            raise BadTokenError(f"{token.name} sends too much; wait a moment")
        return token

    async def _join(self, join: Join, token: Token) -> RemoteSeat:
        """A seat; none if the program goes while it waits."""
        self._service.reopen(join)
        joining = asyncio.create_task(self._service.seats.join(join, token.name, self.send))
        listening = asyncio.create_task(self._socket.receive())
        await asyncio.wait({joining, listening}, return_when=asyncio.FIRST_COMPLETED)
        if listening.done() and not joining.done():
            joining.cancel()
        listening.cancel()
        found, received = await asyncio.gather(joining, listening, return_exceptions=True)
        if isinstance(found, RemoteSeat) and isinstance(received, asyncio.CancelledError):
            return found
        if isinstance(found, RemoteSeat):
            self._service.lose(found, "the program left")
        if isinstance(found, NoSeatError):
            raise found
        raise WireError("expected no message before the seat is taken")

    async def _play(self, seat: RemoteSeat, token: Token) -> None:
        receiving = asyncio.create_task(self._receive_all(seat, token))
        over = asyncio.create_task(seat.over.wait())
        is_revoked = self._service.revoked.setdefault(token.name, asyncio.Event())
        revoked = asyncio.create_task(is_revoked.wait())
        try:
            await self.send(joined(seat.info))
            seat.is_ready.set()
            await asyncio.wait({receiving, over, revoked}, return_when=asyncio.FIRST_COMPLETED)
            if seat.over.is_set():
                await self.send(Ended())
                await self._socket.close()
            elif is_revoked.is_set():
                await self.send(Refused(reason=f"the tokens of {token.name} were revoked"))
                await self._socket.close(POLICY)
        finally:
            await cancel_and_wait(receiving, over, revoked)
            if not seat.over.is_set():
                self._service.lose(seat, f"the program {token.name} is gone")

    async def _receive_all(self, seat: RemoteSeat, token: Token) -> None:
        """Handles messages until the program leaves; those that are not valid change nothing, and are throttled."""
        while True:
            try:
                message = read_any(FROM_PROGRAM, await self._receive())
                if isinstance(message, Leave):
                    await self._socket.close()
                    return
                if not isinstance(message, Act):
                    raise WireError(f"expected an action, got a message of type {message.type!r}: the seat is taken")
                seat.acted(message)
            except WireError as error:
                self._service.metrics.refused()
                await self.send(Refused(reason=str(error)))
                await self._service.limiter.pause(token.name)
