"""The way of a participant over HTTP: what they send is checked by `flow`; nothing of it is a value that is paid."""

import functools
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import reward
from rlds_kit.crowd.tasks import Device, Person, RecruitmentError, RefusedError, Stage, flow
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of, address_of
from rlds_kit.studio.crowd import bodies
from rlds_kit.studio.crowd.desk import PAUSED, Sent
from rlds_kit.studio.crowd.leaderboard import Leaderboard
from rlds_kit.studio.crowd.playing import Playing
from rlds_kit.studio.crowd.shown import values_as_json, visit_as_json
from rlds_kit.studio.database import crowds
from rlds_kit.studio.database.crowds import Visit
from rlds_kit.studio.database.tokens import Kind

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

ARRIVALS: Final = "/api/crowd/arrivals"
_TEXTS: Final = 50
"""Messages of one participant that are stored."""
Step = Callable[[Person], Person]
Handler = Callable[[Request], Awaitable[Response]]


def refusals(handler: Handler) -> Handler:
    """Answers what is not possible where a participant is, or with their link, with the reason."""

    @functools.wraps(handler)
    async def refusing(request: Request) -> Response:
        try:
            return await handler(request)
        except RecruitmentError as error:
            raise ApiError(400, "link", str(error)) from error
        except RefusedError as error:
            raise ApiError(409, "refused", str(error)) from error

    return refusing


class PersonRoutes:
    """The routes of participants.

    Args:
      playing: the games of the crowd.
    """

    def __init__(self, playing: Playing) -> None:
        self._playing, self._desk = playing, playing.desk
        self._leaderboard = Leaderboard(playing.desk, playing.recordings)

    def routes(self) -> Sequence[Route]:
        """All of them."""
        changes = {
            "consent": self.consent,
            "answers": self.answers,
            "device": self.device,
            "instructed": self.instructed,
            "check": self.check,
            "place": self.place,
            "leave": self.leave,
            "enter": self.enter,
            "finish": self.finish,
            "texts": self.text,
        }
        return [
            Route(ARRIVALS, refusals(self.arrive), methods=["POST"]),
            Route("/api/crowd/me", self.me, methods=["GET"]),
            Route("/api/crowd/me/values", self.values, methods=["GET"]),
            Route("/api/crowd/me/standings", self.standings, methods=["GET"]),
            *(Route(f"/api/crowd/me/{name}", refusals(each), methods=["POST"]) for name, each in changes.items()),
        ]

    async def arrive(self, request: Request) -> Response:
        """A participant opens the link, or loads it again; a browser that is new gets a login."""
        account: Account | None = request.scope.get("account")
        given = await read(request, bodies.Arriving)
        if account is not None and not account.is_guest and self._desk.of_user(account.id) is None:
            message = f"you are logged in as a {account.role.value}; open the link in a private window to try it"
            raise ApiError(409, "other_login", message)
        if seconds := request.app.state.logins.wait(address_of(request)):
            raise ApiError(
                429, "too_many", f"too many people at once; try again in {seconds:.0f} seconds", retry_seconds=seconds
            )
        arrival = await self._desk.arrive(given.parameters, given.group, account, again=given.again)
        self._playing.presence.seen(arrival.visit.person.id)
        response = await self._state(arrival.visit)
        if arrival.login is not None:
            signer = request.app.state.signer
            response.set_cookie(
                signer.cookie,
                signer.sign(Kind.ACCESS, arrival.login.token.id),
                max_age=int(login.LOGIN_SECONDS),
                httponly=True,
                samesite="lax",  # people come by a link on another site, and come back
                secure=request.app.state.settings.is_secure or request.url.scheme == "https",
            )
        return response

    async def me(self, request: Request) -> Response:
        """Where one is; a page sends this every few seconds, which shows that it is open."""
        visit = await self._back(self._mine(request))
        return await self._state(visit)

    async def consent(self, request: Request) -> Response:
        """The text with this hash is accepted; the row has hash and time."""
        given = await read(request, bodies.Consenting)
        return await self._step(
            request, lambda person: flow.consent(self._desk.crowd, person, given.accepted, self._now())
        )

    async def answers(self, request: Request) -> Response:
        """The questions before or after the game are answered."""
        given = await read(request, bodies.Answering)
        name = "after" if self._mine(request).person.stage is Stage.AFTER else "before"

        def sent(known: Mapping[str, Any]) -> Mapping[str, Any]:
            return {"answers": {**known.get("answers", {}), name: given.answers}}

        return await self._step(
            request, lambda person: flow.answer(self._desk.crowd, person, given.answers, self._now()), sent
        )

    async def device(self, request: Request) -> Response:
        """What the browser says of itself; who has none that will do is sent away with the reason."""
        given = await read(request, bodies.Measured)
        stated = given.model_dump(exclude={"v"})
        device = Device(**stated)
        return await self._step(
            request,
            lambda person: flow.screen(self._desk.crowd, person, device, self._now()),
            lambda _: {"device": stated},
        )

    async def instructed(self, request: Request) -> Response:
        """The instructions are read."""
        return await self._step(request, lambda person: flow.instructed(self._desk.crowd, person, self._now()))

    async def check(self, request: Request) -> Response:
        """The comprehension check is done."""
        given = await read(request, bodies.Answering)
        return await self._step(
            request, lambda person: flow.check(self._desk.crowd, person, given.answers, self._now())
        )

    async def place(self, request: Request) -> Response:
        """A participant in the lobby gets an assignment; who plays alone plays at once."""
        given = await read(request, bodies.Choosing)
        visit = self._going_on(request)
        return await self._state(await self._desk.place(visit.person.id, given.task))

    async def leave(self, request: Request) -> Response:
        """A participant does not want to wait any longer; they may come back."""
        return await self._step(request, lambda person: _left(person, self._now()))

    async def enter(self, request: Request) -> Response:
        """The session in which one plays, and the token for /ws/play."""
        session, token = await self._playing.enter(self._going_on(request))
        return answer({"session": session.id, "token": token})

    async def values(self, request: Request) -> Response:
        """What is counted so far, item by item, and what it would be worth."""
        visit = self._mine(request)
        game = self._desk.game_of(visit)
        if game is None:
            return answer({"items": [], "earned": None, "is_paid": False})
        found = await self._playing.values(visit)
        treatment = self._desk.treatment_of(visit)
        return answer(values_as_json(game, treatment, found, reward(treatment, found), self._desk.crowd))

    async def standings(self, request: Request) -> Response:
        """Where one stands among all who played the same task; of others it says sums only."""
        return answer({"standings": await self._leaderboard.of(self._mine(request))})

    async def finish(self, request: Request) -> Response:
        """One's game is over; what it is worth is counted from the recording."""
        given = await read(request, bodies.Finishing)
        return await self._state(await self._playing.finish(self._going_on(request), is_early=given.early))

    async def text(self, request: Request) -> Response:
        """A message to the experimenter, such as a problem; it is erased with the person."""
        given = await read(request, bodies.Telling)
        visit = self._mine(request)
        new = {"text": given.text, "stage": visit.person.stage.value, "at": self._now()}

        def sent(known: Mapping[str, Any]) -> Mapping[str, Any]:
            texts = known.get("texts", [])
            if len(texts) >= _TEXTS:
                raise RefusedError(f"you sent {len(texts)} messages already, as many as may be")
            return {"texts": [*texts, new]}

        await self._desk.note(visit.person.id, sent)
        return answer({})

    async def _step(self, request: Request, step: Step, sent: Sent | None = None) -> Response:
        return await self._state(await self._desk.change(self._going_on(request).person.id, step, sent))

    async def _back(self, visit: Visit) -> Visit:
        """A participant whose page was silent for long is here again."""
        if visit.person.stage is not Stage.DROPPED:
            return visit
        desk = self._desk
        return await desk.change(
            visit.person.id, lambda person: flow.come_back(desk.crowd, desk.book, person, self._now())
        )

    def _mine(self, request: Request) -> Visit:
        visit = self._desk.of_user(account_of(request).id)
        if visit is None:
            raise ApiError(403, "forbidden", "you take no part in this study; open the link that you were sent")
        self._playing.presence.seen(visit.person.id)
        return visit

    def _going_on(self, request: Request) -> Visit:
        if self._desk.row.is_paused:
            raise ApiError(409, "paused", PAUSED)
        return self._mine(request)

    def _now(self) -> float:
        return self._desk.now()

    async def _state(self, visit: Visit) -> Response:
        desk, person = self._desk, visit.person
        found = await self._playing.database.run(crowds.messages, desk.row.id, person.id, person.arrived)
        return answer({"me": visit_as_json(desk, visit, [*found])})


def _left(person: Person, now: float) -> Person:
    if person.stage is not Stage.LOBBY:
        raise RefusedError(f"expected a participant in the lobby, got one at {person.stage.value}")
    return flow.drop(person, now)
