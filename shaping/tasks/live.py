"""Connects the page of a person with a process."""

import asyncio
import contextlib
import json
import multiprocessing
import threading
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any, Final
from weakref import WeakValueDictionary

from rlds_kit.base.extras import needs
from rlds_kit.trials.workers.process import start

with needs("studio"):
    from starlette.websockets import WebSocket, WebSocketDisconnect

END_SECONDS: Final = 30.0
"""Time for a process to write its data and end; then it is killed."""


class Lives:
    """The running processes, one for each key: a person and an activity.

    Args:
      most: maximum number at the same time.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._live: dict[str, Live] = {}
        self._n_opening = 0
        self._turns = WeakValueDictionary[str, asyncio.Lock]()
        self._endings = set[asyncio.Task[None]]()

    async def serve(self, socket: WebSocket, key: str, open_one: Callable[[], Awaitable["Live"]]) -> None:
        """Serves a page; first ends a running process with the same key, from another window."""
        await socket.accept()
        async with self._turns.setdefault(key, asyncio.Lock()):  # other requests do not wait until a process has ended
            if key in self._live:
                await self._live.pop(key).end()
            live = await self._opened(key, open_one)
        if live is None:
            await socket.send_json({"failed": f"{self._most} go on already; try again later"})
            await socket.close()
            return
        try:
            await live.serve(socket)
        finally:  # a closed page cancels this task, but never a write
            ending = asyncio.create_task(self._end(key, live))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            await asyncio.shield(ending)

    async def close(self) -> None:
        """Ends all processes; their data are written."""
        for each in list(self._live.values()):
            await each.end()

    async def _opened(self, key: str, open_one: Callable[[], Awaitable["Live"]]) -> "Live | None":
        if len(self._live) + self._n_opening >= self._most:
            return None
        self._n_opening += 1
        try:
            live = self._live[key] = await open_one()
        finally:
            self._n_opening -= 1
        return live

    async def _end(self, key: str, live: "Live") -> None:
        await live.end()
        if self._live.get(key) is live:
            del self._live[key]


class Live:
    """A process and its page: messages, which are dicts, are passed in both directions.

    Args:
      target: a function of a module; its first argument is the connection. It ends when a message has "do": "end".
      *arguments: its other arguments, which must be picklable.
    """

    def __init__(self, target: Callable[..., None], *arguments: Any) -> None:
        self._ours, theirs = multiprocessing.Pipe()
        self._process = start(target, theirs, *arguments)
        theirs.close()
        self._ending = asyncio.Lock()

    async def serve(self, socket: WebSocket) -> None:
        """Passes messages in both directions, until the page or the process ends."""
        loop, outgoing = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None]()

        def put(message: dict[str, Any] | None) -> None:
            loop.call_soon_threadsafe(outgoing.put_nowait, message)

        threading.Thread(target=_read, args=(self._ours, put), daemon=True).start()
        out = asyncio.create_task(_send(socket, outgoing))
        heard = asyncio.create_task(self._hear(socket))
        done, waiting = await asyncio.wait({out, heard}, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*done, *waiting, return_exceptions=True)

    async def end(self) -> None:
        """Ends the process, which writes its data."""
        async with self._ending:
            with contextlib.suppress(OSError):  # it has ended
                await asyncio.to_thread(self._ours.send, {"do": "end"})
            await asyncio.to_thread(self._process.join, END_SECONDS)
            if self._process.is_alive():
                self._process.kill()

    async def _hear(self, socket: WebSocket) -> None:
        while True:
            try:
                message = json.loads(await socket.receive_text())
            except ValueError:
                continue
            except (WebSocketDisconnect, KeyError, RuntimeError):
                return
            if isinstance(message, dict):
                await asyncio.to_thread(self._ours.send, message)


async def _send(socket: WebSocket, outgoing: "asyncio.Queue[dict[str, Any] | None]") -> None:
    while (message := await outgoing.get()) is not None:
        await socket.send_json(message)
    await socket.close()


def _read(connection: Connection, put: Callable[[dict[str, Any] | None], None]) -> None:
    """Passes on the messages of the process, in a thread; None: it has ended."""
    try:
        while True:
            put(connection.recv())
    except (EOFError, OSError):
        pass
    try:
        put(None)
    except RuntimeError:
        return  # the server has ended
