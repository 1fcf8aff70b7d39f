"""The requests of the page that reviews manuals.

| request | answer |
|---|---|
| GET /api/manuals | `{"tables": [{"name", "game", "objects", "abstain", "overrides", "problem"}]}` |
| GET /api/manuals/{manual} | `{"table", "fingerprint", "can_override"}`; `table` as in its file |
| PUT /api/manuals/{manual}/overrides | takes `{"object", "verdict", "fingerprint"}`; the same |

`verdict` is "yes", "no", "abstain" or null, which removes an override. `fingerprint` is that of the table that
the person saw; if it has changed since, the request is refused ("stale", 409).
"""

import json
from dataclasses import asdict
from typing import Any, Final, Literal

from rlds_kit.base.extras import needs
from rlds_kit.shaping.manuals.interaction import TableError
from rlds_kit.shaping.manuals.reviewing import StaleTableError
from rlds_kit.shaping.manuals.table import InteractionTable
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, is_allowed, require
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.api.models import Body
from rlds_kit.studio.manuals.tables import ManualTables, problem_of

with needs("studio"):
    from starlette.concurrency import run_in_threadpool
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route


class Override(Body):
    """A person's verdict on an object."""

    object: str
    verdict: Literal["yes", "no", "abstain"] | None
    fingerprint: str


async def list_tables(request: Request) -> Response:
    """All tables, each with the number of decided objects."""
    require(account_of(request), Action.MANUAL_SEE)
    tables = _tables(request)
    return answer({"tables": await run_in_threadpool(lambda: [_summary(tables, each) for each in tables.names()])})


async def get_table(request: Request) -> Response:
    """One table."""
    account = account_of(request)
    require(account, Action.MANUAL_SEE)
    return await _answered(account, _tables(request).table, request.path_params["manual"])


async def override(request: Request) -> Response:
    """Stores a verdict, under the name of the account that is logged in."""
    account = account_of(request)
    require(account, Action.MANUAL_OVERRIDE)
    body = await read(request, Override)
    arguments = (request.path_params["manual"], body.object, body.verdict, account.name or account.id, body.fingerprint)
    return await _answered(account, _tables(request).override, *arguments)


async def _answered(account: Account, work: Any, *arguments: Any) -> Response:
    """Calls a function that returns a table; its errors become responses that explain what to do."""
    try:
        table: InteractionTable = await run_in_threadpool(work, *arguments)
    except LookupError as error:
        raise ApiError(404, "not_found", str(error.args[0]), "manual") from error
    except StaleTableError as error:
        raise ApiError(409, "stale", str(error), "fingerprint") from error
    except TableError as error:
        raise ApiError(422, "table", str(error)) from error
    except OSError as error:
        problem = f"the table cannot be read or stored ({error.strerror}): is there a directory that can be written?"
        raise ApiError(500, "disk", problem, "manual") from error
    return answer(
        {
            "table": json.loads(table.to_json()) | {"interactions": [asdict(each) for each in table.interactions]},
            "fingerprint": table.fingerprint,
            "can_override": is_allowed(account.role, Action.MANUAL_OVERRIDE),
        }
    )


def _summary(tables: ManualTables, name: str) -> dict[str, Any]:
    table, problem = problem_of(tables, name)
    rows = table.interactions if table else ()
    return {
        "name": name,
        "game": table.game if table else "",
        "objects": len(rows),
        "abstain": sum(each.decided == "abstain" for each in rows),
        "overrides": sum(each.override is not None for each in rows),
        "problem": problem,
    }


def _tables(request: Request) -> ManualTables:
    return ManualTables(request.app.state.settings.manuals)


ROUTES: Final = [
    Route("/api/manuals", list_tables, methods=["GET"]),
    Route("/api/manuals/{manual}", get_table, methods=["GET"]),
    Route("/api/manuals/{manual}/overrides", override, methods=["PUT"]),
]
