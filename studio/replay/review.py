"""Notifies the open pages of an episode when its annotations or its length change."""

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
UPDATE_SECONDS: Final = 1.0
"""Changes by this server are sent at once; those by other processes after this time."""
SEND_SECONDS: Final = 10.0
"""A page that receives no message for this time is closed; it connects again and gets the latest."""

Admit = Callable[[], Awaitable[object]]


@dataclass(eq=False, slots=True)
class _Page:
    """An open page, its access check, and the latest messages sent to it, by type."""

    socket: WebSocket
    admit: Admit
    sent: dict[str, str] = field(default_factory=dict)

    async def send(self, messages: dict[str, str]) -> None:
        """Sends new messages, if its person may still see the episode."""
        news = {kind: text for kind, text in messages.items() if self.sent.get(kind) != text}
        if news:
            await self.admit()
        for kind, text in news.items():
            self.sent[kind] = text
            await asyncio.wait_for(self.socket.send_text(text), SEND_SECONDS)


@dataclass(eq=False, slots=True)
class _Group:
    """The open pages of an episode."""

    collection: Collection
    episode: uuid.UUID
    pages: set[_Page] = field(default_factory=set)
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    task: asyncio.Task[None] | None = None

    async def update(self) -> None:
        """Sends changes to all pages; one that does not receive messages is closed."""
        async with self.lock:
            messages = await run_in_threadpool(_messages, self.collection, self.episode)
            await asyncio.gather(*(self._send(page, messages) for page in list(self.pages)))

    async def _send(self, page: _Page, messages: dict[str, str]) -> None:
        try:
            await page.send(messages)
        except (RldsKitError, WebSocketDisconnect, RuntimeError, TimeoutError, OSError):
            self.pages.discard(page)
            with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
                await page.socket.close()

    async def watch(self) -> None:
        """Updates the pages periodically."""
        while True:
            await asyncio.sleep(UPDATE_SECONDS)
            try:
                await self.update()
            except (RldsKitError, RiegeliError, OSError) as error:  # the dataset may be deleted, or repaired
                log.warning("episode %s: %s", self.episode, error)


class Review:
    """The open pages, by episode."""

    def __init__(self) -> None:
        self._groups: dict[uuid.UUID, _Group] = {}

    async def attend(self, socket: WebSocket, collection: Collection, episode: uuid.UUID, admit: Admit) -> None:
        """Notifies a page until it is closed; its own messages are ignored.

        Args:
          socket: accepted.
          collection: that has the episode.
          episode: id of the episode.
          admit: called before each new message to the page; raises if its person may not see the episode any more.
        """
        group = self._groups.setdefault(episode, _Group(collection, episode))
        page = _Page(socket, admit)
        group.pages.add(page)
        if group.task is None:
            group.task = asyncio.create_task(group.watch())
        try:
            await group.update()
            while (await socket.receive())["type"] != "websocket.disconnect":
                pass
        except (WebSocketDisconnect, RuntimeError):
            return  # gone
        finally:
            group.pages.discard(page)
            if not group.pages and self._groups.get(episode) is group:
                del self._groups[episode]
                group.task.cancel()

    async def notify(self, episode: uuid.UUID) -> None:
        """Sends changes to every page of an episode."""
        group = self._groups.get(episode)
        if group is not None:
            await group.update()

    async def close(self) -> None:
        """Closes all pages."""
        groups, self._groups = list(self._groups.values()), {}
        for group in groups:
            if group.task is not None:
                group.task.cancel()
            for page in list(group.pages):
                with contextlib.suppress(WebSocketDisconnect, RuntimeError, OSError):
                    await page.socket.close()


def _messages(collection: Collection, number: uuid.UUID) -> dict[str, str]:
    """All messages for a page; each has the whole state, so that a lost one does not matter."""
    episode = collection.episode(number)
    parts = {
        "length": {"length": episode.length, "end": ending(episode)},
        "annotations": remarks(collection, number),
    }
    return {kind: _message(kind, content) for kind, content in parts.items()}


def _message(kind: str, content: dict[str, Any]) -> str:
    return json.dumps({"v": VERSION, "type": kind, **content}, allow_nan=False, separators=(",", ":"))
