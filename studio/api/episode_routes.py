"""The table of episodes, and deleting one."""

from dataclasses import replace
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, is_allowed, relation_to, require
from rlds_kit.studio.api import models
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import checked
from rlds_kit.studio.api.episode_query import query_of
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.database import episodes
from rlds_kit.studio.database.episodes import Episode, Query
from rlds_kit.studio.database.roles import Relation
from rlds_kit.studio.json_numbers import number

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


async def list_episodes(request: Request) -> Response:
    """A page of the episodes that the account may see."""
    account = account_of(request)
    query = _query(account, _wanted(request))
    total, found = await request.app.state.database.run(episodes.page, query)
    return answer(
        {
            "episodes": [shown(account, episode) for episode in found],
            "total": total,
            "page": query.page,
            "size": query.size,
        }
    )


async def get_episode(request: Request) -> Response:
    """One episode."""
    account = account_of(request)
    found = await request.app.state.database.run(seen, account, request.path_params["episode"])
    return answer({"episode": shown(account, found)})


async def delete_episode(request: Request) -> Response:
    """Deletes an episode from the table; it is not shown or exported any more."""
    await request.app.state.database.run(_delete, account_of(request), request.path_params["episode"])
    return answer({})


def shown(account: Account, episode: Episode) -> dict[str, Any]:
    """An episode in JSON; people are known by their anonymous ids."""
    relation = relation_to(account, episode)
    return {
        "id": episode.id,
        "public_id": episode.public_id,
        "study": episode.study_id,
        "study_name": episode.study_name,
        "study_version": episode.study_version,
        "session": episode.session_id,
        "number": episode.number,
        "environment": episode.environment_id,
        "environment_name": episode.environment_name,
        "user": episode.agent_id,
        "is_own": relation is Relation.OWN,
        "can_tag": is_allowed(account.role, Action.EPISODE_TAG, relation),
        "can_delete": is_allowed(account.role, Action.EPISODE_DELETE, relation),
        "status": episode.status,
        "reason": episode.reason,
        "started_ns": episode.started_ns,
        "ended_ns": episode.ended_ns,
        "steps": episode.steps,
        "total_reward": None if episode.total_reward is None else number(episode.total_reward),
        "tags": list(episode.tags),
    }


def seen(connection: Connection, account: Account, episode: str) -> Episode:
    """An episode, for `Database.run`, if the account may see it.

    Raises:
      NotFoundError: there is none.
      ForbiddenError: the account may not see it.
    """
    found = episodes.get(connection, episode)
    require(account, Action.EPISODE_SEE, found)
    return found


def _delete(connection: Connection, account: Account, episode: str) -> None:
    require(account, Action.EPISODE_DELETE, episodes.get(connection, episode))
    episodes.remove(connection, episode)


def _wanted(request: Request) -> models.EpisodesWanted:
    """The query in the form of the model: digits become numbers, and only `status` may be given several times."""
    values: dict[str, Any] = {}
    for name in request.query_params:
        given = request.query_params.getlist(name)
        values[name] = given if name == "status" or len(given) > 1 else given[0]
    return checked(values, models.EpisodesWanted)


def _query(account: Account, wanted: models.EpisodesWanted) -> Query:
    return replace(
        query_of(account, Action.EPISODE_SEE, wanted),
        sort=wanted.sort.removeprefix("-"),
        is_descending=wanted.sort.startswith("-"),
        page=wanted.page,
        size=wanted.size,
    )


ROUTES: Final = [
    Route("/api/episodes", list_episodes, methods=["GET"]),
    Route("/api/episodes/{episode}", get_episode, methods=["GET"]),
    Route("/api/episodes/{episode}", delete_episode, methods=["DELETE"]),
]
