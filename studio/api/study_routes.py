"""Making, reading, changing, enabling and disabling studies."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import ALLOWED, Action, is_allowed, relation_to, require
from rlds_kit.studio.api import models
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.api.inspection import Inspector
from rlds_kit.studio.database import studies
from rlds_kit.studio.database.roles import Relation, Role
from rlds_kit.studio.database.studies import Content, Study, StudyEnvironment

with needs("studio"):
    from sqlalchemy import Connection
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


async def list_studies(request: Request) -> Response:
    """All studies that the account may see."""
    account = account_of(request)
    seen = ALLOWED[Action.STUDY_SEE][account.role]
    found = await request.app.state.database.run(
        studies.visible, account.id, enabled=Relation.ENABLED in seen, others=Relation.OTHER in seen
    )
    return answer({"studies": [shown(account, study) for study in found]})


async def make_study(request: Request) -> Response:
    """Makes a study."""
    account = account_of(request)
    require(account, Action.STUDY_MAKE)
    content = (await read(request, models.NewStudy)).content()
    await _check(request.app.state.inspector, content.environments)
    made = await request.app.state.database.run(studies.add, account.id, content)
    return answer({"study": shown(account, made)}, 201)


async def get_study(request: Request) -> Response:
    """One study; `?version=` requests an older version."""
    account, study = account_of(request), request.path_params["study"]
    found = await request.app.state.database.run(_seen, account, study)
    version = request.query_params.get("version")
    if version is None:
        return answer({"study": shown(account, found)})
    if not (version.isascii() and version.isdigit() and len(version) < 10):
        raise ApiError(400, "invalid", f"expected the number of a version, got {version!r}", "version")
    content = await request.app.state.database.run(studies.content_of, study, int(version))
    return answer({"study": study, "version": int(version), "content": content})


async def get_open_study(request: Request) -> Response:
    """The name of an enabled study, for visitors who have its link and are not logged in yet."""
    found = await request.app.state.database.run(studies.get, request.path_params["study"])
    require(Account("", Role.PARTICIPANT, ""), Action.STUDY_PLAY, found)
    return answer({"study": {"id": found.id, "name": found.content.name, "description": found.content.description}})


async def change_study(request: Request) -> Response:
    """Makes the next version of a study."""
    account, study = account_of(request), request.path_params["study"]
    found = await request.app.state.database.run(_editable, account, study)
    given = await read(request, models.ChangedStudy)
    content = given.content()
    if _made(content) != _made(found.content):
        await _check(request.app.state.inspector, content.environments)
    changed = await request.app.state.database.run(_change, account, study, given.version, content)
    return answer({"study": shown(account, changed)})


async def change_state(request: Request) -> Response:
    """Enables or disables a study; it is enabled only if all its environments can be played here."""
    account, study = account_of(request), request.path_params["study"]
    given = await read(request, models.State)
    if given.enabled:
        found = await request.app.state.database.run(_openable, account, study)
        await _check(request.app.state.inspector, found.content.environments)
    changed = await request.app.state.database.run(_enable, account, study, given.enabled)
    return answer({"study": shown(account, changed)})


def shown(account: Account, study: Study) -> dict[str, Any]:
    """A study in JSON, with what the account may do with it."""
    relation = relation_to(account, study)
    return {
        "id": study.id,
        "version": study.version,
        "enabled": study.is_enabled,
        "created_ns": study.created_ns,
        "changed_ns": study.changed_ns,
        **asdict(study.content),
        "is_own": relation is Relation.OWN,
        "can_edit": is_allowed(account.role, Action.STUDY_EDIT, relation),
        "can_play": is_allowed(account.role, Action.STUDY_PLAY, relation),
        "can_look_on": is_allowed(account.role, Action.SESSION_SEE, _others(relation)),
    }


def _others(study: Relation) -> Relation:
    """The relations of an account to other people's sessions in a study."""
    return Relation.OF_OWN_STUDY if study is Relation.OWN else Relation.OTHER


def _seen(connection: Connection, account: Account, study: str) -> Study:
    found = studies.get(connection, study)
    # A person who may not play because the study is not enabled gets this error: the link may still be in use.
    if not is_allowed(account.role, Action.STUDY_SEE, relation_to(account, found)):
        require(account, Action.STUDY_PLAY, found)
    require(account, Action.STUDY_SEE, found)
    return found


def _editable(connection: Connection, account: Account, study: str) -> Study:
    found = studies.get(connection, study)
    require(account, Action.STUDY_EDIT, found)
    return found


def _change(connection: Connection, account: Account, study: str, version: int, content: Content) -> Study:
    _editable(connection, account, study)
    return studies.change(connection, study, version, content)


def _openable(connection: Connection, account: Account, study: str) -> Study:
    found = studies.get(connection, study)
    require(account, Action.STUDY_ENABLE, found)
    return found


def _enable(connection: Connection, account: Account, study: str, is_enabled: bool) -> Study:
    _openable(connection, account, study)
    return studies.enable(connection, study, is_enabled)


def _made(content: Content) -> list[Any]:
    return [(*each.what_is_made, each.controls, each.seats) for each in content.environments]


async def _check(inspector: Inspector, environments: Sequence[StudyEnvironment]) -> None:
    for number, each in enumerate(environments):
        if each.together.matchmaker not in {"", *inspector.matchmakers}:
            known = ", ".join(sorted(inspector.matchmakers)) or "none"
            message = (
                f"expected a matchmaker that the studio was started with ({known}), got {each.together.matchmaker!r}"
            )
            raise ApiError(422, "matchmaker", message, f"environments.{number}.together.matchmaker")
    for misfit in await inspector.misfits(environments):
        where = ".".join(part for part in ("environments", str(misfit.environment), misfit.where) if part)
        raise ApiError(422, "environments", misfit.message, where)


ROUTES: Final = [
    Route("/api/studies", list_studies, methods=["GET"]),
    Route("/api/studies", make_study, methods=["POST"]),
    Route("/api/studies/{study}", get_study, methods=["GET"]),
    Route("/api/open-studies/{study}", get_open_study, methods=["GET"]),
    Route("/api/studies/{study}", change_study, methods=["PUT"]),
    Route("/api/studies/{study}/state", change_state, methods=["PUT"]),
]
