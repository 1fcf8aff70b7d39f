"""The task "judge": people answer queries about recorded segments in a browser.

| request | answer |
|---|---|
| GET /api/tasks/judge | {"queues": [{"id", "name", "kind", "queries", "answered", ...}], "datasets", "is_designer"} |
| POST /api/tasks/judge/queues | {"name", "dataset", "kind", "question", "length", "count", "seed", ...}: designers |
| GET /api/tasks/judge/queues/{id}/next | the first query that the person has not answered; null: there is none |
| POST /api/tasks/judge/queues/{id}/answers | {"query", "answer"}; durable, and the next query as above |
| /ws/tasks/judge/play?dataset=D&episode=E&step=N | a person continues from a step; see `played_on` |
| GET /api/tasks/judge/queues/{id}/agreement | {"alpha", "equal", "units", "annotators", "answers"}: designers |
"""

import asyncio
import uuid
from collections.abc import Sequence
from importlib import resources
from importlib.resources.abc import Traversable
from pathlib import Path
from typing import Any, Final

from rlds_kit.base.extras import MissingExtraError, needs
from rlds_kit.shaping.preferences.agreement import agreement
from rlds_kit.shaping.preferences.answers import Comparison, Correction, Ranking, Rating
from rlds_kit.shaping.preferences.query import Query, Response
from rlds_kit.shaping.preferences.sampling import Uniform, queries
from rlds_kit.shaping.preferences.segment import Segment, cut
from rlds_kit.shaping.preferences.stored import drafts
from rlds_kit.shaping.tasks.given import Given, NewQueue, answer_of, checked
from rlds_kit.shaping.tasks.host import Host, Person, body_of
from rlds_kit.shaping.tasks.live import Live, Lives
from rlds_kit.shaping.tasks.played_on import PlayOn, play_on, require_played
from rlds_kit.shaping.tasks.queues import Answers, Queue, read_queues, write_queue

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.responses import Response as HttpResponse
    from starlette.routing import BaseRoute, Route, WebSocketRoute
    from starlette.websockets import WebSocket

SIZES: Final = {Comparison.KIND: 2}
"""Number of segments of a query by kind; the designer sets it for rankings, for other kinds it is one."""
MOST: Final = 16
"""Maximum number of corrections that are played at the same time: each has a process."""
PLAYED: Final = "played"
"""Folder of recorded corrections, with one dataset for each judged dataset; see `_named`."""
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
        self._host, self._names = host, _named(datasets)
        self.datasets: Sequence[Path] = list(self._names.values())
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
        """Ends the open games, and closes the files of the answers."""
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
        return JSONResponse({"v": 1, "queues": found, "datasets": list(self._names), "is_designer": person.is_designer})

    async def _make(self, request: Request) -> HttpResponse:
        _require_designer(self._host.person(request))
        given = await body_of(request)
        try:
            queue = await run_in_threadpool(self._made, checked(NewQueue, given))
        except ValueError as error:
            raise HTTPException(400, f"this queue cannot be made: {error}") from error
        return JSONResponse({"v": 1, "id": queue.id}, 201)

    def _made(self, given: NewQueue) -> Queue:
        """Divides the episodes into segments and draws queries from them."""
        dataset, kind = self._dataset(given.dataset), given.kind
        size = given.size if kind == Ranking.KIND else SIZES.get(kind, 1)
        episodes = self._opened(dataset).dataset.episodes
        pool = [Segment(each.id) for each in episodes] if given.length is None else cut(episodes, given.length)
        strategy = Uniform(seed=given.seed)
        made = queries(pool, strategy, given.count, kind=kind, size=size, question=given.question)
        studio = self._host.directory.parents[1]
        return write_queue(studio, dataset, made, given.name, low=given.low, high=given.high)

    async def _next(self, request: Request) -> HttpResponse:
        person, queue = self._host.person(request), await self._queue(request)
        return JSONResponse(await self._following(queue, person))

    async def _answer(self, request: Request) -> HttpResponse:
        person, queue, given = self._host.person(request), await self._queue(request), await body_of(request)
        answers = await self._of(queue.dataset)
        try:
            response = await run_in_threadpool(self._response, answers, queue, person, given)
            annotations = drafts([response])
        except (OverflowError, TypeError, ValueError) as error:
            raise HTTPException(400, f"this is no answer to a query of the queue: {error}") from error
        await run_in_threadpool(answers.give, response, annotations)
        return JSONResponse(await self._following(queue, person), 201)

    def _response(self, answers: Answers, queue: Queue, person: Person, plain: dict[str, Any]) -> Response:
        """The answer of a person, validated for the query."""
        given = checked(Given, plain)
        wanted = uuid.UUID(given.query)
        query = next((each for each in queue.queries if each.id == wanted), None)
        if query is None:
            raise ValueError(f"expected a query of the queue, got {wanted}")
        steps = answers.steps(query.segments[0])
        answer = answer_of(queue, given.answer, len(steps))
        if isinstance(answer, Correction) and answer.played is not None:
            order = self._order(queue.dataset, query.segments[0].episode, steps[answer.step], person)
            require_played(order, answer.played)
        return Response(query=query, answer=answer, annotator=person.id, confidence=given.confidence)

    async def _play_on(self, socket: WebSocket) -> None:
        person, given = self._host.person(socket), socket.query_params
        try:
            episode, step = uuid.UUID(given["episode"]), int(given["step"])
            dataset = self._dataset(given["dataset"])
        except (KeyError, ValueError):
            await socket.close(REFUSED, "expected the episode, the step and the dataset of a query")
            return
        order = self._order(dataset, episode, step, person)
        await self._lives.serve(socket, person.id, lambda: run_in_threadpool(Live, play_on, order))

    def _order(self, dataset: Path, episode: uuid.UUID, step: int, person: Person) -> PlayOn:
        return PlayOn(
            dataset=str(dataset),
            episode=episode,
            step=step,
            directory=str(self._host.directory / PLAYED / self._name(dataset).replace("/", ".")),
            annotator=person.id,
            modules=self._host.modules,
        )

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
        return await run_in_threadpool(self._next_of, await self._of(queue.dataset), queue, person)

    def _next_of(self, answers: Answers, queue: Queue, person: Person) -> dict[str, Any]:
        done = {each.query.id for each in answers.about(queue) if each.annotator == person.id}
        query = next((each for each in queue.queries if each.id not in done), None)
        about = {"name": queue.name, "kind": queue.kind, "question": queue.queries[0].question}
        about["dataset"] = self._name(queue.dataset)
        numbers = {"low": queue.low, "high": queue.high, "answered": len(done), "queries": len(queue.queries)}
        return {"v": 1, **about, **numbers, "query": None if query is None else _shown(answers, query)}

    async def _queue(self, request: Request) -> Queue:
        wanted = request.path_params["queue"]
        for each in await run_in_threadpool(read_queues, self._host.directory):
            if each.id == wanted and each.dataset in self.datasets:
                return each
        raise HTTPException(404, "there is no such queue; go back to the list")

    async def _about(self, queue: Queue) -> list[Response]:
        return await run_in_threadpool((await self._of(queue.dataset)).about, queue)

    async def _of(self, dataset: Path) -> Answers:
        async with self._opening:
            return await run_in_threadpool(self._opened, dataset)

    def _opened(self, dataset: Path) -> Answers:
        if dataset not in self._answers:
            self._answers[dataset] = Answers(dataset)
        return self._answers[dataset]

    def _dataset(self, name: str) -> Path:
        if name not in self._names:
            raise ValueError(f"expected a dataset of the studio ({', '.join(self._names)}), got {name[:100]!r}")
        return self._names[name]

    def _name(self, dataset: Path) -> str:
        return next(name for name, each in self._names.items() if each == dataset)


def _named(datasets: Sequence[Path]) -> dict[str, Path]:
    """Datasets by the name of their folder; if an earlier one has that name, parent folders are added."""
    found: dict[str, Path] = {}
    for each in dict.fromkeys(datasets):
        names = ("/".join(each.parts[-count:]) for count in range(1, len(each.parts) + 1))
        found[next(name for name in names if name not in found)] = each
    return found


def _shown(answers: Answers, query: Query) -> dict[str, Any]:
    """A query, with the numbers of the steps of its segments."""
    steps = [(each.episode, answers.steps(each)) for each in query.segments]
    segments = [{"episode": str(episode), "first": found.start, "stop": found.stop} for episode, found in steps]
    return {"id": str(query.id), "segments": segments}


def _require_designer(person: Person) -> None:
    if not person.is_designer:
        raise HTTPException(403, "this takes the account of a designer")
