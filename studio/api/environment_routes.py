"""The environments that can be made, and their arguments."""

from dataclasses import asdict
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.permissions import Action, require
from rlds_kit.studio.api import models
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.guard import account_of

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


async def list_environments(request: Request) -> Response:
    """The ids of environments that can be made."""
    require(account_of(request), Action.ENVIRONMENTS_SEE)
    inspector = request.app.state.inspector
    found = {"environments": await inspector.ids(), "several": await inspector.of_several()}
    return answer({**found, "actors": inspector.actors})


async def schema(request: Request) -> Response:
    """JSON schema of the keyword arguments of an environment."""
    require(account_of(request), Action.ENVIRONMENTS_SEE)
    found = await request.app.state.inspector.schema(request.path_params["environment"])
    return answer({"schema": found})


async def controls(request: Request) -> Response:
    """The keys and names of an environment's discrete actions, for designers to edit; null: it has no such actions."""
    require(account_of(request), Action.ENVIRONMENTS_TRY)
    given = await read(request, models.ControlsWanted)
    return answer({"controls": await request.app.state.inspector.controls(given.environment.content())})


async def seats(request: Request) -> Response:
    """The seats of an environment, each with the keys and names of its discrete actions."""
    require(account_of(request), Action.ENVIRONMENTS_TRY)
    given = await read(request, models.ControlsWanted)
    found = await request.app.state.inspector.seats(given.environment.content())
    return answer({"seats": [{"name": name, "controls": controls} for name, controls in found.items()]})


async def check(request: Request) -> Response:
    """Whether one study can have these environments, and if not, why."""
    require(account_of(request), Action.ENVIRONMENTS_TRY)
    given = await read(request, models.Check)
    found = await request.app.state.inspector.misfits([each.content() for each in given.environments])
    return answer({"compatible": not found, "problems": [asdict(each) for each in found]})


ROUTES: Final = [
    Route("/api/environments", list_environments, methods=["GET"]),
    Route("/api/environments/check", check, methods=["POST"]),
    Route("/api/environments/controls", controls, methods=["POST"]),
    Route("/api/environments/seats", seats, methods=["POST"]),
    Route("/api/environments/{environment:path}/schema", schema, methods=["GET"]),
]
