"""The task "train": a person watches an agent in a browser and trains it by feedback.

| request | answer |
|---|---|
| GET /api/tasks/train | {"trainings": [{"name", "title", "unit", "stages", "mine"}], "is_designer"} |
| GET /api/tasks/train/results | {"are_shown", "results"}: see `results.results` |
| PUT /api/tasks/train/results | {"are_shown"}: designers only; until then people see their own results alone |
| /ws/tasks/train?training=NAME&new=1&group=G | a training; without `new` the one that was broken off goes on |
"""

import asyncio
import contextlib
import json
import multiprocessing
import re
import threading
from collections.abc import Callable, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.shaping.tasks.host import Host, body_of
from rlds_kit.shaping.tasks.results import Shown, mine, results
from rlds_kit.shaping.trainings.process import Order, train
from rlds_kit.shaping.trainings.training import PRESETS, Training, training_of
from rlds_kit.trials.workers.process import start

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import BaseRoute, Route, WebSocketRoute
    from starlette.websockets import WebSocket, WebSocketDisconnect

MOST: Final = 16
"""Trainings at the same time: each has a process."""
END_SECONDS: Final = 30.0
"""For a process to write what it has and end; then it is killed."""
REFUSED: Final = 4403
_GROUP: Final = re.compile(r"[\w .-]{0,40}")


def open_task(host: Host, arguments: Sequence[str]) -> "TrainTask":
    """The task of a studio.

    Args:
      host: the studio.
      arguments: environments of Gymnasium, or `Training`s as "module:name", besides the two of the TAMER paper.
    """
    trainings = [*PRESETS, *(training_of(each) for each in arguments)]
    return TrainTask(host, trainings, {each.name: name for each, name in zip(trainings[2:], arguments, strict=True)})


class TrainTask:
    """Trainings in a studio: a process for each, which plays, learns and records."""

    name = "train"
    title = "Train"
    datasets: Sequence[Path] = ()

    def __init__(self, host: Host, trainings: Sequence[Training], names: dict[str, str]) -> None:
        self._host, self._trainings = host, {each.name: each for each in trainings}
        self._names = {each.name: each.name for each in trainings} | names
        self.page: Traversable = resources.files("rlds_kit.shaping") / "tasks" / "pages" / "train"
        self._shown = Shown(host.directory)
        self._live: dict[str, _Live] = {}
        self._endings = set[asyncio.Task[None]]()
        self._opening = asyncio.Lock()
        self.routes: Sequence[BaseRoute] = (
            Route("/api/tasks/train", self._list),
            Route("/api/tasks/train/results", self._results),
            Route("/api/tasks/train/results", self._show, methods=["PUT"]),
            WebSocketRoute("/ws/tasks/train", self._train),
        )

    async def close(self) -> None:
        """Ends all trainings; what they have is written."""
        for each in list(self._live.values()):
            await each.end()

    def directory(self, training: str) -> Path:
        """Of the recording of a training."""
        return self._host.directory / training

    async def _list(self, request: Request) -> Response:
        person = self._host.person(request)
        found = []
        for each in self._trainings.values():
            own = await run_in_threadpool(mine, each, self.directory(each.name), person.id)
            stages = [stage.name for stage in each.protocol.stages]
            found.append({"name": each.name, "title": each.title, "unit": each.unit, "stages": stages, "mine": own})
        return JSONResponse({"v": 1, "trainings": found, "is_designer": person.is_designer})

    async def _results(self, request: Request) -> Response:
        person, are_shown = self._host.person(request), self._shown.are_shown
        everything = []
        for name in self._trainings:
            everything += await run_in_threadpool(results, self.directory(name), name, person.id)
        visible = [each for each in everything if are_shown or person.is_designer or each["is_mine"]]
        return JSONResponse({"v": 1, "are_shown": are_shown, "results": visible})

    async def _show(self, request: Request) -> Response:
        if not self._host.person(request).is_designer:
            raise HTTPException(403, "only designers decide when results are shown")
        given = (await body_of(request)).get("are_shown")
        if not isinstance(given, bool):
            raise HTTPException(400, 'expected {"are_shown": true or false}')
        self._shown.show(are_shown=given)
        return JSONResponse({"v": 1, "are_shown": given})

    async def _train(self, socket: WebSocket) -> None:
        person, query = self._host.person(socket), socket.query_params
        name, group = query.get("training", ""), query.get("group", "")
        if name not in self._trainings or _GROUP.fullmatch(group) is None:
            await socket.close(REFUSED, f"there is no training {name[:40]!r}, or the group is no name")
            return
        async with self._opening:
            live = await self._open(person.id, name, group, is_new=query.get("new") == "1")
        await socket.accept()
        if live is None:
            await socket.send_json({"failed": f"{MOST} trainings go on already; try again later"})
            await socket.close()
            return
        try:
            await live.serve(socket)
        finally:  # a page that goes away cancels what serves it, and never what is written
            ending = asyncio.create_task(self._end(live))
            self._endings.add(ending)
            ending.add_done_callback(self._endings.discard)
            await asyncio.shield(ending)

    async def _end(self, live: "_Live") -> None:
        await live.end()
        if self._live.get(live.key) is live:
            del self._live[live.key]

    async def _open(self, person: str, name: str, group: str, *, is_new: bool) -> "_Live | None":
        """Starts the process; the same training in another window of the person ends before."""
        key = f"{person}:{name}"
        if key in self._live:
            await self._live.pop(key).end()
        if len(self._live) >= MOST:
            return None
        own = await run_in_threadpool(mine, self._trainings[name], self.directory(name), person)
        number = 1 if own is None else own["number"] + (is_new or own["is_over"])
        order = Order(
            training=self._names[name],
            id=f"{person}:{number}",
            directory=str(self.directory(name)),
            annotator=person,
            group=group,
            modules=self._host.modules,
        )
        self._live[key] = await run_in_threadpool(_Live, key, order)
        return self._live[key]


class _Live:
    """A training that goes on: its process, and the page that shows it."""

    def __init__(self, key: str, order: Order) -> None:
        self.key = key
        self._ours, theirs = multiprocessing.Pipe()
        self._process = start(train, theirs, order)
        theirs.close()
        self._ending = asyncio.Lock()

    async def serve(self, socket: WebSocket) -> None:
        """Passes messages in both ways, until the page or the process ends."""
        loop, said = asyncio.get_running_loop(), asyncio.Queue[dict[str, Any] | None]()

        def put(message: dict[str, Any] | None) -> None:
            loop.call_soon_threadsafe(said.put_nowait, message)

        threading.Thread(target=_read, args=(self._ours, put), daemon=True).start()
        out = asyncio.create_task(_send(socket, said))
        heard = asyncio.create_task(self._hear(socket))
        done, waiting = await asyncio.wait({out, heard}, return_when=asyncio.FIRST_COMPLETED)
        for each in waiting:
            each.cancel()
        await asyncio.gather(*done, *waiting, return_exceptions=True)

    async def end(self) -> None:
        """Ends the process, which writes what it has."""
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


async def _send(socket: WebSocket, said: "asyncio.Queue[dict[str, Any] | None]") -> None:
    while (message := await said.get()) is not None:
        await socket.send_json(message)
    await socket.close()


def _read(connection: Connection, put: Callable[[dict[str, Any] | None], None]) -> None:
    """Passes on what the process sends, in a thread; None: it has ended."""
    try:
        while True:
            put(connection.recv())
    except (EOFError, OSError):
        pass
    try:
        put(None)
    except RuntimeError:
        return  # the server has ended
