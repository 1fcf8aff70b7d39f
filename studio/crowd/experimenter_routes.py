"""The experimenter's side of a crowd over HTTP: who is where, pay, messages, and what stops everything."""

import csv
import io
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.crowd.incentives import payment_csv, prolific_bonuses
from rlds_kit.crowd.incentives.ledger import Entry, harmless
from rlds_kit.crowd.tasks import Stage
from rlds_kit.studio.accounts import login
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.crowd import bodies
from rlds_kit.studio.crowd.desk import PAUSED
from rlds_kit.studio.crowd.pay import Pay
from rlds_kit.studio.crowd.playing import Playing
from rlds_kit.studio.crowd.running import require_runner
from rlds_kit.studio.crowd.shown import row_as_json
from rlds_kit.studio.database import crowds, sessions, users
from rlds_kit.studio.database.tokens import Kind

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route

_PAUSED: Final = "the study pauses"
_SESSIONS: Final = 20
_LISTED: Final = 500
"""People in the table of the page, the latest ones."""


class ExperimenterRoutes:
    """The routes of the designer who runs the crowd.

    Args:
      playing: the games of the crowd.
      pay: what its people are owed.
    """

    def __init__(self, playing: Playing, pay: Pay) -> None:
        self._playing, self._desk, self._database = playing, playing.desk, playing.database
        self._pay = pay

    def routes(self) -> Sequence[Route]:
        """All of them."""
        return [
            Route("/api/crowd", self.overview, methods=["GET"]),
            Route("/api/crowd/state", self.state, methods=["PUT"]),
            Route("/api/crowd/messages", self.message, methods=["POST"]),
            Route("/api/crowd/codes", self.code, methods=["POST"]),
            Route("/api/crowd/payments", self.payments, methods=["GET"]),
            Route("/api/crowd/payments", self.paid, methods=["POST"]),
            Route("/api/crowd/payments.csv", self.payments_file, methods=["GET"]),
            Route("/api/crowd/bonuses.csv", self.bonuses_file, methods=["GET"]),
            Route("/api/crowd/answers.csv", self.answers_file, methods=["GET"]),
            Route("/api/crowd/people/{person}", self.person, methods=["GET"]),
            Route("/api/crowd/people/{person}/link", self.link, methods=["POST"]),
            Route("/api/crowd/people/{person}/personal", self.erase, methods=["DELETE"]),
        ]

    async def overview(self, request: Request) -> Response:
        """Arrivals, where people are, drop-outs, and what the tasks have."""
        await self._require(request)
        desk = self._desk
        counted = [each for each in desk if not each.person.is_test]
        left = Counter(
            (each.person.left or Stage.CONSENT).value for each in counted if each.person.stage is Stage.DROPPED
        )
        tasks = [
            {
                "name": name,
                "title": each.title,
                "target": each.target,
                "active": desk.book.active(name),
                "completed": desk.book.completed(name),
            }
            for name, each in desk.crowd.tasks.items()
        ]
        return answer(
            {
                "name": desk.crowd.name,
                "is_paused": desk.row.is_paused,
                "is_closed": desk.row.is_closed,
                "currency": desk.crowd.currency,
                "groups": list(desk.crowd.groups),
                "recruitment": list(desk.crowd.recruitment),
                "stages": Counter(each.person.stage.value for each in counted),
                "left": left,
                "connected": sum(self._playing.presence.is_connected(each.person.id) for each in desk),
                "cents": sum(each.earned.total_cents for each in counted),
                "tasks": tasks,
                "sessions": await self._database.run(_sessions, [each.session_id for each in desk if each.session_id]),
                "people": [
                    {**row_as_json(each), "is_connected": self._playing.presence.is_connected(each.person.id)}
                    for each in list(desk)[-_LISTED:]
                ],
            }
        )

    async def person(self, request: Request) -> Response:
        """What one person sent, and how far behind the picture was when they pressed keys."""
        await self._require(request)
        visit = self._desk.get(request.path_params["person"])
        user = await self._database.run(users.get, visit.user_id)
        sent = await self._database.run(crowds.personal_of, visit.user_id)
        lags = sorted(await self._playing.lags(visit))
        found = {"person": row_as_json(visit), "participant": user.participant, "sent": sent}
        return answer({**found, "lag": _percentiles(lags)})

    async def state(self, request: Request) -> Response:
        """Pauses everything, or closes the crowd for new people; games that are played end when it pauses."""
        await self._require(request)
        given = await read(request, bodies.Opening)
        await self._desk.set_state(is_paused=given.paused, is_closed=given.closed)
        lobbies, keys = request.app.state.lobbies, [each.environment.id for each in self._desk.games.values()]
        if not given.paused:
            lobbies.go_on(keys)
        else:
            lobbies.pause(keys, PAUSED)
            for session in {each.session_id for each in self._desk if each.person.stage is Stage.PLAY}:
                self._playing.live.stop(session or "", _PAUSED)
        return answer({"paused": given.paused, "closed": given.closed})

    async def message(self, request: Request) -> Response:
        """Writes to a person, or to everybody who is here by now."""
        await self._require(request)
        given = await read(request, bodies.Writing)
        if given.person is not None:
            self._desk.get(given.person)
        await self._database.run(crowds.send, self._desk.row.id, given.text, given.person)
        return answer({}, 201)

    async def code(self, request: Request) -> Response:
        """Redeems a completion code; it is good once."""
        await self._require(request)
        given = await read(request, bodies.Redeeming)
        return answer({"person": row_as_json(await self._desk.redeem(given.code))})

    async def payments(self, request: Request) -> Response:
        """The ledger, counted from the recordings now."""
        await self._require(request)
        return answer({"entries": [self._entry(each) for each in await self._pay.ledger()]})

    async def payments_file(self, request: Request) -> Response:
        """Who is to be paid what, as CSV; test users and those who were paid are not in it."""
        await self._require(request)
        return _file("payments.csv", payment_csv(await self._pay.due(), currency=self._desk.crowd.currency))

    async def bonuses_file(self, request: Request) -> Response:
        """What Prolific takes for bonuses."""
        await self._require(request)
        due = [each for each in await self._pay.due() if self._desk[each.work.assignment].person.kind == "prolific"]
        return _file("bonuses.csv", prolific_bonuses(each for each in due if each.work.participant))

    async def paid(self, request: Request) -> Response:
        """Notes who was paid: they are in no further file."""
        await self._require(request)
        given = await read(request, bodies.Paid)
        return answer({"new": await self._desk.paid(given.assignments, given.prizes)})

    async def answers_file(self, request: Request) -> Response:
        """What people answered, as CSV by assignment, without test users unless `?test=1`."""
        await self._require(request)
        is_test_wanted = request.query_params.get("test") == "1"
        sent = await self._database.run(crowds.participants, self._desk.row.id)
        crowd = self._desk.crowd
        columns = [("before", each.name) for each in crowd.before] + [("after", each.name) for each in crowd.after]
        file = io.StringIO()
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["assignment", "task", "completion", *(f"{part}_{name}" for part, name in columns)])
        for each in self._desk:
            if each.person.is_test and not is_test_wanted:
                continue
            answers = sent.get(each.person.id, (None, {}))[1].get("answers", {})
            given = [answers.get(part, {}).get(name) for part, name in columns]
            place = each.person.place
            row = [each.person.id, "" if place is None else place.task, each.person.completion]
            writer.writerow([*row, *(harmless(value) if isinstance(value, str) else value for value in given)])
        return _file("answers.csv", file.getvalue())

    async def link(self, request: Request) -> Response:
        """A link of one's own for a person who lost their browser; it logs in once a day at most."""
        await self._require(request)
        visit = self._desk.get(request.path_params["person"])
        made = await self._database.run(login.make_link, visit.user_id)
        text = request.app.state.signer.sign(Kind.LINK, made.id)
        return answer({"token": text, "group": visit.person.group}, 201)

    async def erase(self, request: Request) -> Response:
        """Deletes what identifies a person, and all that they wrote; what they played stays without a name."""
        await self._require(request)
        visit = self._desk.get(request.path_params["person"])
        await self._database.run(users.forget, visit.user_id)
        return answer({})

    async def _require(self, request: Request) -> None:
        await require_runner(request, self._desk, self._database)

    def _entry(self, entry: Entry) -> dict[str, Any]:
        visit = self._desk[entry.work.assignment]
        return {
            **row_as_json(visit),
            "participant": entry.work.participant,
            "treatment": entry.work.treatment.name,
            "values": entry.values,
            "episodes": entry.episodes,
            "base_cents": entry.reward.base_cents,
            "bonus_cents": entry.reward.bonus_cents,
            "total_cents": entry.reward.total_cents,
            "tickets": entry.reward.tickets,
            "prize_cents": entry.prize_cents,
            "is_prize_due": visit.prize_paid_ns is None and entry.prize_cents > 0,
            "is_due": visit.paid_ns is None and entry.reward.total_cents > 0 and not entry.work.is_test,
        }


def _sessions(connection: "Connection", wanted: Sequence[str]) -> list[dict[str, Any]]:
    """The latest sessions, and how they ended."""
    latest = list(dict.fromkeys(reversed(wanted)))[:_SESSIONS]
    found = [sessions.get(connection, each) for each in latest]
    names = ("id", "started_ns", "ended_ns", "is_valid", "reason")
    return [{name: getattr(each, name) for name in names} for each in found]


def _percentiles(ordered: Sequence[int]) -> dict[str, int | None]:
    """Of the lags of key presses, in steps: how many there are, and what so many per cent do not exceed."""
    of = {f"p{part}": ordered[min(len(ordered) - 1, len(ordered) * part // 100)] for part in (50, 95, 99) if ordered}
    return {"presses": len(ordered), **dict.fromkeys(("p50", "p95", "p99")), **of}


def _file(name: str, text: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(text, media_type="text/csv; charset=utf-8", headers=headers)
