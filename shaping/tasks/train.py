"""The task "train": a person watches an agent in a browser and trains it by feedback.

| request | answer |
|---|---|
| GET /api/tasks/train | {"trainings": [{"name", "title", "unit", "stages", "mine"}], "is_designer"} |
| GET /api/tasks/train/results | {"are_shown", "results"}: see `results.results` |
| PUT /api/tasks/train/results | {"are_shown"}: designers only; until then people see only their own results |
| /ws/tasks/train?training=NAME&new=1&group=G | a training; without `new`, continues the interrupted one |
"""

import re
from collections.abc import Mapping, Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.shaping.tasks.host import Host, body_of
from rlds_kit.shaping.tasks.live import Live, Lives
from rlds_kit.shaping.tasks.results import Shown, mine, results
from rlds_kit.shaping.trainings.process import Order, train
from rlds_kit.shaping.trainings.training import PRESETS, Training, training_of

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response
    from starlette.routing import BaseRoute, Route, WebSocketRoute
    from starlette.websockets import WebSocket

MOST: Final = 16
"""Maximum number of trainings at the same time: each has a process."""
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
        self._lives = Lives(MOST)
        self.routes: Sequence[BaseRoute] = (
            Route("/api/tasks/train", self._list),
            Route("/api/tasks/train/results", self._results),
            Route("/api/tasks/train/results", self._show, methods=["PUT"]),
            WebSocketRoute("/ws/tasks/train", self._train),
        )

    async def close(self) -> None:
        """Ends all trainings; their data are written."""
        await self._lives.close()

    def directory(self, training: str) -> Path:
        """The directory of the recording of a training."""
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
        await self._lives.serve(socket, f"{person.id}:{name}", lambda: self._started(person.id, name, group, query))

    async def _started(self, person: str, name: str, group: str, query: Mapping[str, str]) -> Live:
        """The process of a training: a new one, or the interrupted one."""
        own = await run_in_threadpool(mine, self._trainings[name], self.directory(name), person)
        number = 1 if own is None else own["number"] + (query.get("new") == "1" or own["is_over"])
        order = Order(
            training=self._names[name],
            id=f"{person}:{number}",
            directory=str(self.directory(name)),
            annotator=person,
            group=group,
            modules=self._host.modules,
        )
        return await run_in_threadpool(Live, train, order)
