"""The first request of a page."""

from typing import Final

import rlds_kit
from rlds_kit.base.extras import needs
from rlds_kit.studio.api.answer import answer

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


async def about(request: Request) -> Response:
    """What serves the page; no login is needed."""
    tasks = [{"name": each.name, "title": each.title} for each in request.app.state.tasks]
    return answer({"mode": "studio", "version": rlds_kit.__version__, "tasks": tasks})


ROUTES: Final = [Route("/api/about", about, methods=["GET"])]
