"""Opening and ending sessions."""

from collections.abc import Collection
from dataclasses import asdict
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.anonymous import PURPOSE, agent_id
from rlds_kit.studio.accounts.permissions import Action, ForbiddenError, is_allowed, relation_to, require
from rlds_kit.studio.accounts.play_token import play_token
from rlds_kit.studio.accounts.secret import derived
from rlds_kit.studio.api import models
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.database import participations, sessions, studies, users
from rlds_kit.studio.database.errors import NotFoundError
from rlds_kit.studio.database.sessions import Seated, Session
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.trials.environments.playable import SEAT

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


async def open_session(request: Request) -> Response:
    """Opens a session in an environment of a study."""
    account, state = account_of(request), request.app.state
    given = await read(request, models.NewSession)
    secret = derived(state.secret, PURPOSE)
    made, environment = await state.database.run(_open, account, given, secret, state.settings.name)
    seat, *_ = made.people
    token = state.signer.sign(Kind.PLAY, made.id) if seat == SEAT else play_token(state.signer, made, seat)
    return answer({"session": shown(made), "environment": asdict(environment), "token": token}, 201)


async def observe(request: Request) -> Response:
    """Admits a person to observe a session and give rewards there, under their own anonymous id."""
    account, state = account_of(request), request.app.state
    secret = derived(state.secret, PURPOSE)
    found, agent = await state.database.run(_observed, account, request.path_params["session"], secret)
    token = state.signer.sign(Kind.OBSERVE, f"{found.id} {agent} {account.id}")
    return answer({"session": shown(found), "token": token})


async def being_played(request: Request) -> Response:
    """The sessions of a study that are being played on this server and that the account may observe."""
    account, state = account_of(request), request.app.state
    study, now = request.path_params["study"], state.live_sessions.sessions
    found = await state.database.run(_seen_of, account, study, now)
    return answer({"sessions": [shown(each) for each in found]})


async def get_session(request: Request) -> Response:
    """A session."""
    account = account_of(request)
    found = await request.app.state.database.run(_allowed, account, request.path_params["session"], Action.SESSION_SEE)
    return answer({"session": shown(found)})


async def get_participations(request: Request) -> Response:
    """Who was in which seat of a session, and when; people are known by their anonymous ids."""
    account, session = account_of(request), request.path_params["session"]
    database = request.app.state.database
    await database.run(_allowed, account, session, Action.SESSION_SEE)
    found = await database.run(participations.of_session, session)
    names = ("seat", "kind", "agent_id", "version", "joined_ns", "left_ns")
    return answer({"participations": [{name: getattr(each, name) for name in names} for each in found]})


async def end_session(request: Request) -> Response:
    """Ends a session and its episode; a second call changes nothing."""
    state = request.app.state
    ended = await state.database.run(_end, account_of(request), request.path_params["session"])
    state.live_sessions.stop(ended.id, "its person ended the session")
    return answer({"session": shown(ended)})


def shown(session: Session) -> dict[str, Any]:
    """A session in JSON."""
    return {
        "id": session.id,
        "study": session.study_id,
        "environment": session.environment_id,
        "agent": session.agent_id,
        "reason": session.reason,
        "people": {seat: each.agent_id for seat, each in session.people.items()},
        "started_ns": session.started_ns,
        "ended_ns": session.ended_ns,
        "is_valid": session.is_valid,
    }


def _open(
    connection: Connection, account: Account, given: models.NewSession, secret: bytes, server: str
) -> tuple[Session, studies.StudyEnvironment]:
    study = studies.get(connection, given.study)
    require(account, Action.STUDY_PLAY, study)
    agent = agent_id(secret, study.id, users.get(connection, account.id).person)
    for environment in study.content.environments:
        if environment.id == given.environment:
            people = {_only_seat(environment): Seated(account.id, agent)}
            made = sessions.add(connection, study.id, environment.id, account.id, agent, server, people)
            return made, environment
    raise NotFoundError(f"the study has no environment {given.environment}; load it again")


def _only_seat(environment: studies.StudyEnvironment) -> str:
    """The seat of a person who plays alone.

    Raises:
      ApiError: there are several seats of people, or none.
    """
    seats = environment.human_seats
    if len(seats) != 1:
        message = f"{len(seats)} people play this environment together; wait for the others in its lobby, /ws/lobby"
        raise ApiError(409, "lobby", message, "environment")
    return seats[0]


def _allowed(connection: Connection, account: Account, session: str, action: Action) -> Session:
    found = sessions.get(connection, session)
    require(account, action, found)
    return found


def _seen_of(connection: Connection, account: Account, study: str, among: Collection[str]) -> list[Session]:
    require(account, Action.STUDY_SEE, studies.get(connection, study))
    found = sessions.of_study(connection, study, among)
    return [each for each in found if is_allowed(account.role, Action.SESSION_SEE, relation_to(account, each))]


def _observed(connection: Connection, account: Account, session: str, secret: bytes) -> tuple[Session, str]:
    found = _allowed(connection, account, session, Action.SESSION_SEE)
    environment = studies.environment(connection, found.environment_id)
    if not environment.together.onlookers and found.study_owner_id != account.id:
        raise ForbiddenError("only the designer may watch in this study")
    return found, agent_id(secret, found.study_id, users.get(connection, account.id).person)


def _end(connection: Connection, account: Account, session: str) -> Session:
    _allowed(connection, account, session, Action.SESSION_PLAY)
    return sessions.end(connection, session)


ROUTES: Final = [
    Route("/api/sessions", open_session, methods=["POST"]),
    Route("/api/studies/{study}/sessions", being_played, methods=["GET"]),
    Route("/api/sessions/{session}", get_session, methods=["GET"]),
    Route("/api/sessions/{session}/participations", get_participations, methods=["GET"]),
    Route("/api/sessions/{session}/look", observe, methods=["POST"]),
    Route("/api/sessions/{session}/end", end_session, methods=["POST"]),
]
