"""A window that plays like a page, but with one message after the other."""

import json
import time
from collections.abc import Iterator, MutableMapping
from contextlib import contextmanager
from typing import Any

import anyio
from starlette.testclient import WebSocketTestSession

from rlds_kit.studio.accounts.signing import BadTokenError
from rlds_kit.studio.database import sessions
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.studio.play.frame_header import Header, unpack
from tests.studio.api.studio import ORIGIN, Person, Studio
from tests.studio.studio_process import PATIENCE

URL = "ws://127.0.0.1/ws/play"


def headers_of(person: Person) -> dict[str, str]:
    """The headers of a browser that is logged in."""
    return {"Origin": ORIGIN, "Cookie": f"{person.studio.state.signer.cookie}={person.token}"}


def owner_of(studio: Studio, token: str) -> Person:
    """The person of a token, for playing or for watching."""
    try:
        user = studio.do(sessions.get, studio.state.signer.read(Kind.PLAY, token)).user_id
    except BadTokenError:
        user = studio.state.signer.read(Kind.OBSERVE, token).split(" ")[2]
    return studio.known(user)


class Window:
    """A window.

    Args:
      socket: that is connected.

    Attributes:
      sequence: number of the latest frame.
      lag: seconds that it takes to answer a ping; None: for ever.
    """

    lag: float | None = 0.0

    def __init__(self, socket: WebSocketTestSession) -> None:
        self._socket, self.sequence = socket, 0

    def say(self, kind: str, **fields: Any) -> None:
        """Sends a message."""
        self._socket.send_json({"v": 1, "type": kind, **fields})

    def _next(self) -> dict[str, Any] | Header:
        message = self._socket.portal.call(self._receive)
        assert message["type"] == "websocket.send", message
        if message.get("bytes") is not None:
            header = unpack(message["bytes"])
            self.sequence = header.sequence
            self.say("ack", seq=header.sequence)
            return header
        said: dict[str, Any] = json.loads(message["text"])
        if said["type"] == "ping" and self.lag is not None:
            time.sleep(self.lag)
            self.say("pong", number=said["number"])
        return said

    async def _receive(self) -> MutableMapping[str, Any]:
        """Like `WebSocketTestSession.receive`, which waits for ever."""
        with anyio.fail_after(PATIENCE):
            return await self._socket._send_rx.receive()

    def until(self, kind: str, **fields: Any) -> dict[str, Any]:
        """Waits for a message with such fields."""
        while True:
            said = self._next()
            if isinstance(said, dict) and said["type"] == kind and fields.items() <= said.items():
                return said

    def until_frame(self, step: int) -> None:
        """Waits for the picture of a step."""
        while True:
            shown = self._next()
            if isinstance(shown, Header) and shown.step == step:
                return

    def begin(self) -> None:
        """Begins to play."""
        self.until("state", phase="waiting")
        self.say("start")
        self.until("state", phase="running")

    def press(self, key: str, step: int) -> None:
        """Presses a key, and waits for the resulting step."""
        self.say("keys", held={key: 1.0})
        self.say("keys", held={})
        self.until_frame(step)

    def end(self, *, save: bool = True, completed: bool = True) -> dict[str, Any]:
        """Cancels the episode; returns how it ended."""
        self.say("cancel")
        self.until("ask")
        self.say("confirm", save=save, completed=completed)
        return self.until("saved")


@contextmanager
def playing(studio: Studio, token: str) -> Iterator[Window]:
    """A window of the session's person, after its hello message; it leaves at the end."""
    with studio.client.websocket_connect(URL, headers=headers_of(owner_of(studio, token))) as socket:
        window = Window(socket)
        window.say("hello", token=token)
        yield window
        window.say("leave")
