"""The requests of the replay, for `rlds-kit view` and the studio.

Answers are JSON with `"v": 1`, errors `{"v": 1, "error": {"code", "message", "where"}}`. An episode is named by its
UUID, with or without hyphens. Steps count from 0; a span of steps is `[first, end]`, and `end` is not in it.

| request | answer |
|---|---|
| GET /api/replay/{episode} | the data of a whole episode, see below |
| GET /api/replay/{episode}/profile | `?first=&end=&points=`: the reward profile of some steps, see below |
| GET /api/replay/{episode}/step/{n} | the values of a step, see below |
| GET /api/replay/{episode}/image/{n} | `?field=observation/camera&frame=0`: a PNG |
| GET /api/replay/{episode}/drawn/{n} | a PNG of the picture, drawn again if no picture was recorded |
| GET /api/replay/{episode}/array/{n} | `?field=observation`: an array as it was recorded, as NPY |
| GET /api/replay/{episode}/annotations | `{"annotations": [...], "problems": [...]}` |
| POST /api/replay/{episode}/annotations | adds one; 201; returns all of them |
| DELETE /api/replay/{episode}/annotations/{id} | retracts one; returns all remaining ones |
| POST /api/annotations | `{"episodes": [id, ...], "text"}`: a tag for many episodes; `{"added": 3, "had": 1}` |
| WebSocket /ws/review?episode={episode} | the annotations and the length of the episode, and each change of them |

**An episode**: `id`, `number` and `count` (in the dataset; null in the studio), `before` and `after` (ids of
neighbours or null), `length`, `end` ("terminated", "truncated", "interrupted", "incomplete", "open", "damaged"),
`started` (ISO 8601), `rate` (steps a second), `fields` (`[{"name", "kind"}]`, kinds as of values), `spec`, `about`
(values of `metadata`, `run_metadata`, `provenance`, `seed`, `options`), `action_names` (of discrete actions, or
empty), `profile`, `annotations`, `problems` (texts: what could not be read), `source` (of the person's annotations),
`can_annotate`, `can_retract_all` (else only the person's own annotations), `can_be_drawn` (whether pictures can
probably be drawn again).

**A profile**: `{"first", "end", "is_exact", "steps": [...], "series": [{"name", "rewards": [...], "sums": [...],
"total", "not_finite"}]}`. `steps` are the numbers of the selected steps; all of them if `is_exact`, else those with the
least and the greatest rewards, so that spikes are included. `sums` are the sums from step 0 to each of these steps. A
reward that is one number has the name ""; agents, and parts of a reward, have a series each. Rewards that are undefined
or None are 0; "nan" and "inf" are text, and are left out of sums.

**A step**: `{"step", "flags": ["is_first", ...], "fields": [{"name", "defined", "value"}], "people": [{"seat",
"driver", "keys": {"ArrowUp": 1.0}, "shown_frame", "is_default"}], "boxes": [{"slot", "category", "x", "y", "width",
"height"}]}`. `people` is who acted in this step, empty if that was not recorded; `shown_frame` is the step that was on
the screen when the keys last changed, or null. `boxes` are of objects that a layer has in its field `objects`, in
pixels of a screen of 160 x 210. A field that is not `defined` has no meaning: on the last step there was no action.

**A value** has a `kind`:

| kind | besides |
|---|---|
| image | `dtype`, `shape`, `place` (for `?field=`), `frames`, `height`, `width`, `exact`, else scaled from `range` |
| array | `dtype`, `shape`, and `values` (nested lists), or of a large one `cut` (the first, flat) and `summary` |
| number | `type`, `value` |
| text | `value`, `size` (in characters; of a long one, `value` is the beginning) |
| bytes | `size`, `hex` (the beginning) |
| dict | `size`, `items`: `[[key, value], ...]` |
| list, tuple | `size`, `items` |
| none, cut | nothing; "cut" replaces data that is too large to show |
| other | `text` |

Numbers that a browser cannot represent exactly, infinity and NaN are text.

**An annotation**: `{"id", "kind": "tag" | "note" | "reward" | "return", "steps": null | [first, end], "value",
"source", "confidence", "layer", "time_ms"}`. `steps` is null if it is about the whole episode. To add one: `{"kind",
"text"}` for a tag or a note, `{"kind", "value"}` for a reward or a return; and optionally `"steps"`, `"confidence"`,
`"replaces"` (the id of an annotation that is retracted in the same request). A reward needs `steps`. A tag that exists
already is refused with code "duplicate" (409).

**The socket** sends `{"v": 1, "type": "annotations", "annotations", "problems"}` and `{"v": 1, "type": "length",
"length", "end"}`, each first at the start and then after each change. Messages of the client are ignored. It is closed
with code 4403 if the client may not open it.
"""

import asyncio
import functools
import uuid
from collections.abc import Sequence
from typing import Any, Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.replay import remarks, steps
from rlds_kit.studio.replay.answers import answered
from rlds_kit.studio.replay.bodies import json_of, whole_number
from rlds_kit.studio.replay.drawing import Drawings
from rlds_kit.studio.replay.library import Admitted, Deed, Library
from rlds_kit.studio.replay.profile import MOST_POINTS, profile
from rlds_kit.studio.replay.review import Review

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import BaseRoute, Route, WebSocketRoute
    from starlette.websockets import WebSocket

_CACHED: Final = {"Cache-Control": "private, max-age=3600", "X-Content-Type-Options": "nosniff"}
"""A recorded step never changes."""
REFUSED: Final = 4403
"""Code for closing a WebSocket that may not be opened; no 4xxx code is registered (RFC 6455, 7.4.2)."""
MOST_AT_ONCE: Final = 1000
"""Maximum number of episodes that get a tag in one request."""


def replay_routes(library: Library, review: Review, drawings: Drawings) -> Sequence[BaseRoute]:
    """The routes of the replay, for any server that implements `Library`.

    Args:
      library: where episodes are, and who may see and annotate them.
      review: pages that are notified of annotations; the server calls its `close` at the end.
      drawings: makes pictures that are drawn again; likewise.
    """
    replay = _Replay(library, review, drawings)
    base = "/api/replay/{episode:uuid}"
    return (
        Route(base, answered(replay.facts)),
        Route(f"{base}/profile", answered(replay.profile)),
        Route(f"{base}/step/{{step}}", answered(replay.step)),
        Route(f"{base}/image/{{step}}", answered(replay.image)),
        Route(f"{base}/drawn/{{step}}", answered(replay.drawn)),
        Route(f"{base}/array/{{step}}", answered(replay.array)),
        Route(f"{base}/annotations", answered(replay.annotations)),
        Route(f"{base}/annotations", answered(replay.annotate), methods=["POST"]),
        Route(f"{base}/annotations/{{annotation}}", answered(replay.retract), methods=["DELETE"]),
        Route("/api/annotations", answered(replay.tag_many), methods=["POST"]),
        WebSocketRoute("/ws/review", replay.review),
    )


class _Replay:
    """The endpoints. Functions that read a disk run in a thread."""

    def __init__(self, library: Library, review: Review, drawings: Drawings) -> None:
        self._library, self._review, self._drawings = library, review, drawings
        self._noting = asyncio.Lock()  # else the last notification could have an older state

    async def facts(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.SEE)
        return answer(await run_in_threadpool(steps.episode_facts, found, episode))

    async def profile(self, request: Request) -> Response:
        found, wanted = await self._open(request, Deed.SEE)
        episode = await run_in_threadpool(found.collection.episode, wanted)
        query = request.query_params
        end = whole_number(query, "end", episode.length, 0, episode.length)
        first = whole_number(query, "first", 0, 0, end)
        points = whole_number(query, "points", MOST_POINTS, 2, MOST_POINTS)
        return answer(await run_in_threadpool(profile, episode, first, end, points))

    async def step(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.SEE)
        return answer(await run_in_threadpool(steps.step_values, found.collection, episode, _step(request)))

    async def image(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.SEE)
        place, frame = _place(request), whole_number(request.query_params, "frame", 0, 0, 10**6)
        png = await run_in_threadpool(steps.step_picture, found.collection, episode, _step(request), place, frame)
        return Response(png, media_type="image/png", headers=_CACHED)

    async def drawn(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.SEE)
        directory = str(found.collection.dataset.path)
        png = await run_in_threadpool(self._drawings.picture, directory, episode, _step(request))
        return Response(png, media_type="image/png", headers=_CACHED)

    async def array(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.SEE)
        data = await run_in_threadpool(steps.step_array, found.collection, episode, _step(request), _place(request))
        name = f"{episode.hex}-{_step(request)}.npy"
        headers = {**_CACHED, "Content-Disposition": f'attachment; filename="{name}"'}
        return Response(data, media_type="application/octet-stream", headers=headers)

    async def annotations(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.SEE)
        return answer(await run_in_threadpool(remarks.remarks, found.collection, episode))

    async def annotate(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.ANNOTATE)
        await run_in_threadpool(remarks.add, found, episode, await json_of(request))
        return await self._notify(found, episode, 201)

    async def retract(self, request: Request) -> Response:
        found, episode = await self._open(request, Deed.ANNOTATE)
        await run_in_threadpool(remarks.take_back, found, episode, request.path_params["annotation"])
        return await self._notify(found, episode, 200)

    async def tag_many(self, request: Request) -> Response:
        wanted, label = _many(await json_of(request))
        admitted = [(await self._library.admit(request, Deed.ANNOTATE, each), each) for each in wanted]
        tagged = await run_in_threadpool(remarks.tag_all, admitted, label)
        for found, episode in admitted:
            if episode in tagged:
                await self._notify(found, episode, 201)
        return answer({"added": len(tagged), "had": len(wanted) - len(tagged)}, 201)

    async def review(self, socket: WebSocket) -> None:
        try:
            wanted = uuid.UUID(socket.query_params.get("episode", ""))
            found = await self._library.admit(socket, Deed.SEE, wanted)
            await run_in_threadpool(found.collection.number, wanted)
        except (RldsKitError, ValueError) as error:
            await socket.close(REFUSED, str(error)[:100])
            return
        await socket.accept()
        admit = functools.partial(self._library.admit, socket, Deed.SEE, wanted)
        await self._review.attend(socket, found.collection, wanted, admit)

    async def _open(self, request: Request, deed: Deed) -> tuple[Admitted, uuid.UUID]:
        wanted: uuid.UUID = request.path_params["episode"]
        return await self._library.admit(request, deed, wanted), wanted

    async def _notify(self, found: Admitted, episode: uuid.UUID, status: int) -> Response:
        """Notifies all pages, and the library, of the annotations of an episode."""
        async with self._noting:
            found_remarks: dict[str, Any] = await run_in_threadpool(remarks.remarks, found.collection, episode)
            await self._library.annotated(episode, remarks.labels_of(found_remarks))
        await self._review.notify(episode)
        return answer(found_remarks, status)


def _step(request: Request) -> int:
    """The step in the path: any number, because only the episode knows which steps it has."""
    return whole_number(request.path_params, "step", 0, 0, 2**63)


def _place(request: Request) -> str:
    return request.query_params.get("field", "observation")


def _many(body: Any) -> tuple[list[uuid.UUID], str]:
    """The episodes and the label of a request that tags many."""
    if not isinstance(body, dict) or not body.keys() <= {"v", "episodes", "text"}:
        raise ApiError(400, "malformed", "expected an object of episodes and text")
    ids, text = body.get("episodes"), body.get("text")
    if not isinstance(ids, list) or not 0 < len(ids) <= MOST_AT_ONCE:
        raise ApiError(400, "malformed", f"expected 1 to {MOST_AT_ONCE} ids of episodes", "episodes")
    try:
        wanted = list(dict.fromkeys(uuid.UUID(each) for each in ids))
    except (ValueError, AttributeError, TypeError) as error:
        raise ApiError(400, "malformed", f"expected ids of episodes: {error}", "episodes") from error
    return wanted, remarks.checked_label(text)
