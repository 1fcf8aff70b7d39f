"""The raffle of a crowd over HTTP: its tickets are published as a hash, and then drawn with a phrase, once."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import commitment
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.crowd import bodies
from rlds_kit.studio.crowd.pay import Pay
from rlds_kit.studio.crowd.running import require_runner
from rlds_kit.studio.database import raffles
from rlds_kit.studio.database.raffles import Raffle

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


class RaffleRoutes:
    """The routes of raffles, for the designer who runs the crowd.

    Args:
      pay: what people are owed, and their tickets.
    """

    def __init__(self, pay: Pay) -> None:
        self._pay, self._desk, self._database = pay, pay.playing.desk, pay.playing.database

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("/api/crowd/raffle", self.overview, methods=["GET"]),
            Route("/api/crowd/raffle", self.draw, methods=["POST"]),
        ]

    async def overview(self, request: Request) -> Response:
        """The tickets that were not drawn, their hash, and the raffles that there were."""
        await require_runner(request, self._desk, self._database)
        return await self._overview()

    async def draw(self, request: Request) -> Response:
        """Draws the tickets with this hash: no others, and these only once."""
        await require_runner(request, self._desk, self._database)
        given = await read(request, bodies.Drawing)
        tickets = await self._pay.tickets()
        if not tickets:
            raise ApiError(409, "no_tickets", "there are no tickets that were not drawn before")
        if commitment(tickets) != given.commitment:
            message = "the tickets have changed since you loaded them: publish their new hash, and draw then"
            raise ApiError(409, "stale", message, "commitment")
        user = account_of(request).id
        rest = (tickets, given.phrase, given.prizes, given.prize_cents)
        await self._database.run(raffles.draw, self._desk.row.id, user, *rest)
        return await self._overview(201)

    async def _overview(self, status: int = 200) -> Response:
        tickets = await self._pay.tickets()
        drawn = await self._database.run(raffles.raffles, self._desk.row.id)
        found = {"tickets": tickets, "commitment": commitment(tickets), "raffles": [_as_json(each) for each in drawn]}
        return answer(found, status)


def _as_json(raffle: Raffle) -> dict[str, Any]:
    return {**asdict(raffle), "commitment": raffle.commitment}
