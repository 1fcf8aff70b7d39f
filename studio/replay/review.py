"""Tells everybody who looks at an episode what others say of it, at once, and how long it has grown."""

import asyncio
import contextlib
import json
import logging
import uuid
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.riegeli import RiegeliError
from rlds_kit.studio.replay.answers import VERSION
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.remarks import remarks
from rlds_kit.studio.replay.rows import ending

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.websockets import WebSocket, WebSocketDisconnect

log = logging.getLogger(__name__)
LOOK_SECONDS: Final = 1.0
"""What this server did is told at once; what other processes record and say is seen after so long."""
SEND_SECONDS: Final = 10.0
"""A page that takes no message for so long is let go; it comes back and gets the latest."""

Admit = Callable[[], Awaitable[object]]


@dataclass(eq=False, slots=True)
class _Page:
    """An open page, what lets it in, and the latest messages that it got, by type."""

    socket: WebSocket
    admit: Admit
    told: dict[str, str] = field(default_factory=dict)

    async def tell(self, messages: dict[str, str]) -> None:
        """Sends what is new, if its person may still see it."""
        news = {kind: text for kind, text in messages.items() if self.told.get(kind) != text}
        if news:
            await self.admit()
        for kind, text in news.items():
            self.told[kind] = text
            await asyncio.wait_for(self.socket.send_text(text), SEND_SECONDS)


@dataclass(eq=False, slots=True)
class _Room:
    """Those who look at an episode."""

    collection: Collection
    episode: uuid.UUID
    pages: set[_Page] = field(default_factory=set)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    task: asyncio.Task[None] | None = None

    async def look(self) -> None:
        """Tells all pages what has changed; one that does not listen is closed."""
        async with self.lock:
            messages = await run_in_threadpool(_messages, self.collection, self.episode)
            await asyncio.gather(*(self._tell(page, messages) for page in list(self.pages)))

    async def _tell(self, page: _Page, messages: dict[str, str]) -> None:
        try:
            await page.tell(messages)
        except (RldsKitError, WebSocketDisconnect, RuntimeError, TimeoutError, OSError):
            self.pages.discard(page)
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
                await page.socket.close()

    async def watch(self) -> None:
        """Looks again and again."""
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            try:
                await self.look()
            except (RldsKitError, RiegeliError, OSError) as error:  # the dataset may be deleted, or mended
                log.warning("episode %s: %s", self.episode, error)


class Review:
    """The open pages, by episode."""

    def __init__(self) -> None:
        self._rooms: dict[uuid.UUID, _Room] = {}

    async def attend(self, socket: WebSocket, collection: Collection, episode: uuid.UUID, admit: Admit) -> None:
        """Keeps a page informed until it goes; what it says is not listened to.

        Args:
          socket: accepted.
          collection: that has the episode.
          episode: which.
          admit: called before the page is told something new; raises if its person may not see it any more.
        """
        room = self._rooms.setdefault(episode, _Room(collection, episode))
        page = _Page(socket, admit)
        room.pages.add(page)
        if room.task is None:
            room.task = asyncio.create_task(room.watch())
        try:
            await room.look()
            while (await socket.receive())["type"] != "websocket.disconnect":
                pass
        except (WebSocketDisconnect, RuntimeError):
            return  # gone
        finally:
            room.pages.discard(page)
            if not room.pages and self._rooms.get(episode) is room:
                del self._rooms[episode]
                room.task.cancel()

    async def tell(self, episode: uuid.UUID) -> None:
        """Tells every page of an episode what has changed."""
        room = self._rooms.get(episode)
        if room is not None:
            await room.look()

    async def close(self) -> None:
        """Lets all pages go."""
        rooms, self._rooms = list(self._rooms.values()), {}
        for room in rooms:
            if room.task is not None:
                room.task.cancel()
            for page in list(room.pages):
                with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
                    await page.socket.close()


def _messages(collection: Collection, number: uuid.UUID) -> dict[str, str]:
    """All that a page is told, so that a lost message does no harm."""
    episode = collection.episode(number)
    parts = {
        "length": {"length": episode.length, "end": ending(episode)},
        "annotations": remarks(collection, number),
    }
    return {kind: _message(kind, content) for kind, content in parts.items()}


def _message(kind: str, content: dict[str, Any]) -> str:
    return json.dumps({"v": VERSION, "type": kind, **content}, allow_nan=False, separators=(",", ":"))
