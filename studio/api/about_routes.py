"""The first request of a page."""

from typing import Any, Final

import rlds_kit
from rlds_kit.base.extras import needs
from rlds_kit.studio.api.answer import answer

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


async def about(request: Request) -> Response:
    """Which kind of server this is; no login is needed."""
    crowd, tasks = request.app.state.settings.crowd, request.app.state.tasks
    found: dict[str, Any] = {} if crowd is None else {"crowd": crowd.name}
    found["tasks"] = [{"name": each.name, "title": each.title} for each in tasks]
    return answer({"mode": "studio", "version": rlds_kit.__version__, **found})


ROUTES: Final = [Route("/api/about", about, methods=["GET"])]
