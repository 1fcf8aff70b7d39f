"""What a crowd declares, over HTTP: read, checked, and saved as the next version."""

from collections.abc import Mapping, Sequence
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.crowd.tasks import CrowdError
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.crowd import bodies
from rlds_kit.studio.crowd.declaring import DIFFERS, Declaring
from rlds_kit.studio.crowd.running import require_runner
from rlds_kit.studio.database import declarations, users
from rlds_kit.studio.database.declarations import Declaration
from rlds_kit.studio.database.errors import NotFoundError

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


class DeclarationRoutes:
    """The routes of what is declared, for the designer who runs the crowd.

    Args:
      declaring: changes it.
    """

    def __init__(self, declaring: Declaring) -> None:
        self._declaring, self._desk, self._database = declaring, declaring.desk, declaring.database

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("/api/crowd/declaration", self.overview, methods=["GET"]),
            Route("/api/crowd/declaration", self.save, methods=["PUT"]),
            Route("/api/crowd/declaration/check", self.check, methods=["POST"]),
            Route("/api/crowd/declaration/{number:int}", self.version, methods=["GET"]),
        ]

    async def overview(self, request: Request) -> Response:
        """The text that runs, and all versions: who saved them, and when."""
        await self._require(request)
        return await self._overview()

    async def version(self, request: Request) -> Response:
        """The text of a version."""
        await self._require(request)
        known = await self._database.run(declarations.declarations, self._desk.row.id)
        wanted = request.path_params["number"]
        if not 1 <= wanted <= len(known):
            raise ApiError(404, "not_found", f"expected a version from 1 to {len(known)}, got {wanted}")
        return answer({"version": wanted, "text": known[wanted - 1].text})

    async def check(self, request: Request) -> Response:
        """Everything that is wrong with a text, by field; nothing is saved."""
        await self._require(request)
        given = await read(request, bodies.Checking)
        return answer({"problems": list(await self._declaring.problems(given.text))})

    async def save(self, request: Request) -> Response:
        """Saves a text as the next version, which runs from now on."""
        await self._require(request)
        given = await read(request, bodies.Declaring)
        try:
            await self._declaring.save(given.text, given.version, account_of(request).id)
        except CrowdError as error:
            raise ApiError(422, "declaration", "\n".join(error.problems), error.problems[0].split(":")[0]) from error
        return await self._overview()

    async def _overview(self) -> Response:
        desk = self._desk
        known, names = await self._database.run(_versions, desk.row.id)
        latest = {"version": desk.version, "text": desk.crowd.text}
        versions = [
            {"number": each.number, "saved_ns": each.saved_ns, "by": names.get(each.user_id or "")} for each in known
        ]
        notice = "" if desk.is_of_file else DIFFERS.format(number=desk.version)
        return answer({**latest, "versions": versions, "notice": notice})

    async def _require(self, request: Request) -> None:
        await require_runner(request, self._desk, self._database)


def _versions(connection: "Connection", crowd: str) -> tuple[list[Declaration], Mapping[str, Any]]:
    """All versions, and the names of those who saved them; without one who was deleted."""
    known = declarations.declarations(connection, crowd)
    names = {}
    for user in {each.user_id for each in known if each.user_id is not None}:
        try:
            names[user] = users.get(connection, user).name or "a designer"
        except NotFoundError:
            names[user] = "an account that was deleted"
    return known, names
