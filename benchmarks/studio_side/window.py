"""A window that plays: a client as lean as it can be, for it shares the machine with the server."""

import asyncio
import contextlib
import json
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from rlds_kit.studio.play.frame_header import SIZE, Header, unpack

CLOSED: Final = "closed"


@dataclass
class Window:
    """What a window has seen.

    Attributes:
      connection: to the server.
      bytes_per_second: of the link; None: as fast as it goes.
      frames: headers, and when each came, in nanoseconds of the clock that the server uses too.
      phases: of the episode, as the server sent them.
      news: set whenever something comes.
    """

    connection: ClientConnection
    bytes_per_second: float | None = None
    frames: list[tuple[Header, int]] = field(default_factory=list)
    phases: list[str] = field(default_factory=list)
    news: asyncio.Event = field(default_factory=asyncio.Event)

    async def say(self, type_: str, **fields: object) -> None:
        """Sends a message."""
        await self.connection.send(json.dumps({"v": 1, "type": type_, **fields}))

    async def read(self) -> None:
        """Takes what comes, until the end."""
        with contextlib.suppress(ConnectionClosed):
            async for data in self.connection:
                if isinstance(data, str):
                    message = json.loads(data)
                    self.phases += [message["phase"]] if message["type"] == "state" else []
                else:
                    if self.bytes_per_second is not None:
                        await asyncio.sleep(len(data) / self.bytes_per_second)
                    header = unpack(data)
                    self.frames.append((header, time.monotonic_ns()))
                    await self.connection.send(f'{{"v":1,"type":"ack","seq":{header.sequence}}}')
                self.news.set()
        self.phases.append(CLOSED)
        self.news.set()

    async def until_phase(self, phase: str) -> None:
        """Waits until the episode stands there."""
        while phase not in self.phases:
            if CLOSED in self.phases:
                raise ConnectionError(f"the server closed a window that waits until the episode is {phase}")
            self.news.clear()
            await self.news.wait()

    def ages(self) -> list[float]:
        """Of the frames when they had come, in milliseconds since they were sent."""
        return [(came - header.time_ns) / 1e6 for header, came in self.frames]

    def sizes(self) -> list[int]:
        """Of the frames with their headers, in bytes."""
        return [header.size + SIZE for header, _ in self.frames]


@asynccontextmanager
async def entered(url: str, token: str, bytes_per_second: float | None = None) -> AsyncIterator[Window]:
    """A window that has sent its hello."""
    async with connect(url, compression=None, max_size=None, open_timeout=60, close_timeout=1) as connection:
        window = Window(connection, bytes_per_second)
        reading = asyncio.create_task(window.read())
        try:
            await window.say("hello", token=token)
            yield window
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)


async def begin(window: Window) -> None:
    """Begins to play."""
    await window.until_phase("waiting")
    await window.say("start")
    await window.until_phase("running")
