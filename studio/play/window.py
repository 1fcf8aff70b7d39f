"""One window of a person, and the queue of what it is sent."""

import asyncio
import time
from collections import deque
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.play.frames_out import FramesOut, Shown
from rlds_kit.studio.play.host import Admission
from rlds_kit.studio.play.to_browser import ToBrowser, dump

with needs("studio"):
    from starlette.websockets import WebSocket

ENDED: Final = 4000
DISPLACED: Final = 4001
NOT_ADMITTED: Final = 4003
TOO_SLOW: Final = 4008
NO_HELLO: Final = 4009
LEFT: Final = 1000
MOST_WAITING: Final = 256
"""Messages in the queue of a window; a window that has more is closed."""


class Window:
    """One connection. Everything but `send_all` returns at once.

    Args:
      name: identifies the connection.
      admission: of its person.
    """

    def __init__(self, name: str, admission: Admission) -> None:
        self.name, self.admission = name, admission
        self.frames = FramesOut()
        self._texts: deque[str] = deque()
        self._news = asyncio.Event()
        self._close: tuple[int, str] | None = None
        self._is_stuck = asyncio.Event()

    @property
    def seat(self) -> str | None:
        """From which its person acts."""
        return self.admission.seat

    def send(self, message: ToBrowser) -> None:
        """Sends a message, in order."""
        if len(self._texts) >= MOST_WAITING:
            self._is_stuck.set()
            return
        self._texts.append(dump(message))
        self._news.set()

    def show(self, shown: Shown) -> None:
        """Sends a picture, unless a newer one comes first."""
        self.frames.offer(shown)
        self._news.set()

    def acknowledge(self, sequence: int) -> bool:
        """The browser painted a frame; returns whether there was one."""
        is_known = self.frames.acknowledge(sequence, time.monotonic_ns())
        if self.frames.is_waiting:
            self._news.set()
        return is_known

    def close(self, code: int, reason: str) -> None:
        """Closes the connection after the messages in the queue."""
        self._close = self._close or (code, reason)
        self._news.set()

    async def send_all(self, socket: WebSocket) -> None:
        """Sends until the window is closed."""
        stuck = asyncio.ensure_future(self._is_stuck.wait())
        sending = asyncio.ensure_future(self._send(socket))
        try:
            await asyncio.wait({stuck, sending}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            stuck.cancel()
            is_over = sending.done()
            sending.cancel()
        if is_over:
            sending.result()  # raises what it raised
        else:
            await socket.close(TOO_SLOW, "too many messages wait for this window")

    async def _send(self, socket: WebSocket) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            while self._texts:
                await socket.send_text(self._texts.popleft())
            if self._close is not None:
                await socket.close(*self._close)
                return
            frame = self.frames.next(time.monotonic_ns())
            if frame is not None:
                await socket.send_bytes(frame)
                self._news.set()
