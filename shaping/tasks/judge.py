"""The task "judge": people answer queries about recorded segments in a browser.

| request | answer |
|---|---|
| GET /api/tasks/judge | {"queues": [{"id", "name", "kind", "queries", "answered", ...}], "datasets", "is_designer"} |
| POST /api/tasks/judge/queues | {"name", "dataset", "kind", "question", "length", "count", "seed", ...}: designers |
| GET /api/tasks/judge/queues/{id}/next | the first query that the person has not answered; null: none is left |
| POST /api/tasks/judge/queues/{id}/answers | {"query", "answer"}; durable, and the next query as above |
| /ws/tasks/judge/play?dataset=D&episode=E&step=N | a person plays on from a step; see `played_on` |
| GET /api/tasks/judge/queues/{id}/agreement | {"alpha", "equal", "units", "annotators", "answers"}: designers |
"""

import asyncio
import uuid
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.arguments import integer
from rlds_kit.base.extras import MissingExtraError, needs
from rlds_kit.shaping.preferences.agreement import agreement
from rlds_kit.shaping.preferences.answers import KINDS, Comparison, Ranking, Rating
from rlds_kit.shaping.preferences.query import Query, Response
from rlds_kit.shaping.preferences.sampling import Uniform, queries
from rlds_kit.shaping.preferences.segment import Segment, cut
from rlds_kit.shaping.tasks.host import Host, Person, body_of
from rlds_kit.shaping.tasks.live import Live, Lives
from rlds_kit.shaping.tasks.played_on import PlayOn, play_on
from rlds_kit.shaping.tasks.queues import Answers, Queue, answer_of, read_queues, write_queue

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.responses import Response as HttpResponse
    from starlette.routing import BaseRoute, Route, WebSocketRoute
    from starlette.websockets import WebSocket

SIZES: Final = {Comparison.KIND: 2}
"""Segments of a query by kind; of a ranking the designer says how many, of others it is one."""
MOST_QUERIES: Final = 10_000
MOST: Final = 16
"""Corrections that are played at the same time: each has a process."""
PLAYED: Final = "played"
"""Folder of what people played, one dataset for each that is judged."""
REFUSED: Final = 4403
MEASURED: Final = (Comparison.KIND, Ranking.KIND, Rating.KIND)


def open_task(host: Host, arguments: Sequence[str]) -> "JudgeTask":
    """The task of a studio.

    Args:
      host: the studio.
      arguments: directories of the datasets that people judge.
    """
    return JudgeTask(host, [Path(each).resolve() for each in arguments])


class JudgeTask:
    """Queues of queries in a studio, and their answers, in the layer "preferences" of each dataset."""

    name = "judge"
    title = "Judge"

    def __init__(self, host: Host, datasets: Sequence[Path]) -> None:
        self._host, self.datasets = host, datasets
        self.page: Traversable = resources.files("rlds_kit.shaping") / "tasks" / "pages" / "judge"
        self._answers: dict[Path, Answers] = {}
        self._opening, self._lives = asyncio.Lock(), Lives(MOST)
        base = "/api/tasks/judge"
        self.routes: Sequence[BaseRoute] = (
            Route(base, self._list),
            Route(f"{base}/queues", self._make, methods=["POST"]),
            Route(base + "/queues/{queue}/next", self._next),
            Route(base + "/queues/{queue}/answers", self._answer, methods=["POST"]),
            Route(base + "/queues/{queue}/agreement", self._agreement),
            WebSocketRoute("/ws/tasks/judge/play", self._play_on),
        )

    async def close(self) -> None:
        """Ends what people play, and closes the files of the answers."""
        await self._lives.close()
        for each in self._answers.values():
            await asyncio.to_thread(each.close)
        self._answers.clear()

    async def _list(self, request: Request) -> HttpResponse:
        person, found = self._host.person(request), []
        for queue in await run_in_threadpool(read_queues, self._host.directory):
            if queue.dataset in self.datasets:
                answers = await self._about(queue)
                about = {"id": queue.id, "name": queue.name, "kind": queue.kind, "question": queue.queries[0].question}
                own = sum(each.annotator == person.id for each in answers)
                found.append({**about, "queries": len(queue.queries), "answered": own})
        names = [each.name for each in self.datasets]
        return JSONResponse({"v": 1, "queues": found, "datasets": names, "is_designer": person.is_designer})

    async def _make(self, request: Request) -> HttpResponse:
        _require_designer(self._host.person(request))
        given = await body_of(request)
        try:
            queue = await run_in_threadpool(self._made, given)
        except (KeyError, TypeError, ValueError) as error:
            raise HTTPException(400, f"this queue cannot be made: {error}") from error
        return JSONResponse({"v": 1, "id": queue.id}, 201)

    def _made(self, given: dict[str, Any]) -> Queue:
        """Cuts the episodes into segments and draws queries of them."""
        dataset = self.datasets[[each.name for each in self.datasets].index(given["dataset"])]
        kind, length, count = given["kind"], given.get("length"), integer("count", given["count"])
        if kind not in KINDS or not 0 < count <= MOST_QUERIES:
            raise ValueError(f"expected a kind of answers and 1 to {MOST_QUERIES} queries, got {kind!r} and {count}")
        size = integer("size", given.get("size", 3)) if kind == Ranking.KIND else SIZES.get(kind, 1)
        episodes = self._opened(dataset).dataset.episodes
        pool = [Segment(each.id) for each in episodes] if length is None else cut(episodes, integer("length", length))
        strategy = Uniform(seed=integer("seed", given.get("seed", 0)))
        made = queries(pool, strategy, count, kind=kind, size=size, question=str(given.get("question", "")))
        studio = self._host.directory.parents[1]
        scale = {"low": float(given.get("low", 1)), "high": float(given.get("high", 5))}
        return write_queue(studio, dataset, made, str(given["name"]), **scale)

    async def _next(self, request: Request) -> HttpResponse:
        person, queue = self._host.person(request), await self._queue(request)
        return JSONResponse(await self._following(queue, person))

    async def _answer(self, request: Request) -> HttpResponse:
        person, queue, given = self._host.person(request), await self._queue(request), await body_of(request)
        try:
            query = {each.id: each for each in queue.queries}[uuid.UUID(given["query"])]
            confidence = float(given.get("confidence", 1.0))
            answer = answer_of(queue.kind, given["answer"])
            response = Response(query=query, answer=answer, annotator=person.id, confidence=confidence)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise HTTPException(400, f"this is no answer to a query of the queue: {error}") from error
        answers = await self._of(queue.dataset)
        await run_in_threadpool(answers.give, response)
        return JSONResponse(await self._following(queue, person), 201)

    async def _play_on(self, socket: WebSocket) -> None:
        person, given = self._host.person(socket), socket.query_params
        try:
            episode, step = uuid.UUID(given["episode"]), int(given["step"])
            dataset = self.datasets[[each.name for each in self.datasets].index(given["dataset"])]
        except (KeyError, ValueError):
            await socket.close(REFUSED, "expected the episode, the step and the dataset of a query")
            return
        order = PlayOn(
            dataset=str(dataset),
            episode=episode,
            step=step,
            directory=str(self._host.directory / PLAYED / dataset.name),
            annotator=person.id,
            modules=self._host.modules,
        )
        await self._lives.serve(socket, person.id, lambda: run_in_threadpool(Live, play_on, order))

    async def _agreement(self, request: Request) -> HttpResponse:
        _require_designer(self._host.person(request))
        queue = await self._queue(request)
        answers = await self._about(queue)
        found: dict[str, Any] = {"answers": len(answers), "annotators": len({each.annotator for each in answers})}
        if queue.kind in MEASURED:
            try:
                measured = await run_in_threadpool(agreement, answers)
            except MissingExtraError as error:
                found["problem"] = str(error)
            else:
                found |= {"alpha": measured.alpha, "equal": measured.equal, "units": measured.units}
        return JSONResponse({"v": 1, **found})

    async def _following(self, queue: Queue, person: Person) -> dict[str, Any]:
        """The first query that a person has not answered."""
        done = {each.query.id for each in await self._about(queue) if each.annotator == person.id}
        query = next((each for each in queue.queries if each.id not in done), None)
        about = {"name": queue.name, "kind": queue.kind, "question": queue.queries[0].question}
        about["dataset"] = queue.dataset.name
        numbers = {"low": queue.low, "high": queue.high, "answered": len(done), "queries": len(queue.queries)}
        return {"v": 1, **about, **numbers, "query": None if query is None else await self._shown(queue, query)}

    async def _shown(self, queue: Queue, query: Query) -> dict[str, Any]:
        """A query, with the numbers of the steps of its segments."""
        answers, segments = await self._of(queue.dataset), []
        lengths = {each.id: each.length for each in answers.dataset.episodes}
        for each in query.segments:
            steps = range(lengths[each.episode]) if each.steps is None else each.steps
            segments.append({"episode": str(each.episode), "first": steps.start, "stop": steps.stop})
        return {"id": str(query.id), "segments": segments}

    async def _queue(self, request: Request) -> Queue:
        wanted = request.path_params["queue"]
        for each in await run_in_threadpool(read_queues, self._host.directory):
            if each.id == wanted and each.dataset in self.datasets:
                return each
        raise HTTPException(404, "there is no such queue; go back to the list")

    async def _about(self, queue: Queue) -> list[Response]:
        return (await self._of(queue.dataset)).about(queue)

    async def _of(self, dataset: Path) -> Answers:
        async with self._opening:
            return await run_in_threadpool(self._opened, dataset)

    def _opened(self, dataset: Path) -> Answers:
        if dataset not in self._answers:
            self._answers[dataset] = Answers(dataset)
        return self._answers[dataset]


def _require_designer(person: Person) -> None:
    if not person.is_designer:
        raise HTTPException(403, "this takes the account of a designer")
