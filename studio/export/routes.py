"""The requests of exports.

| request | answer |
|---|---|
| POST /api/exports | begins an export, see below; 202 |
| GET /api/exports | `{"exports": [...]}`: those of the account, the newest first |
| GET /api/exports/{id} | `{"export": {...}}`: how far it is |
| DELETE /api/exports/{id} | cancels it; an ended one is deleted with its files |
| POST /api/exports/{id}/again | resumes a failed export |
| GET /api/exports/{id}/file | the archive; `Range` and `If-Range` are supported, so a download can be resumed |
| GET /api/exports/{id}/files | `{"files": [{"name", "bytes"}]}`: its files, also of an export to a folder |
| GET /api/exports/{id}/files/{name} | one of these |

To begin an export: `{"episodes": [id, ...]}` or `{"filter": {"study", "session", "user", "status": [...], "tag"}}` (as
in the table of episodes; only completed ones if no status is named), and optionally `"name": "episodes"` (letters,
digits, _ and -), `"archive": true` (else a folder at the server), `"strip": true` (without internal fields),
`"end_tags": [label, ...]` (the first step that has one becomes the last), `"tag_columns": true` (a field `tag:<label>`
for every label) and `"format": "rlds_kit"`.

An export: `id`, `name`, `archive`, `episodes` (how many were chosen), `rules` (`strip`, `end_tags`, `tag_columns`,
`format`), `created_ns`, `state` ("waiting", "running", "done", "failed", "cancelled"), `progress` (0 to 1), `error`,
`path` (of a folder at the server, for designers; else null), and, when it is done, `report`: `name`, `bytes`,
`episodes`, `steps`, `left_out` (public ids of episodes that were deleted since, or are not on the disk),
`fields_before`, `fields_after`, `losses` (`[{"field", "reason", "values"}]`, of other formats), `content_digest`,
`episodes_kept`; else null; `can_retry` (whether `again` may help), and `expires_ns` (when an ended one is deleted; else
null). Participants make archives only. Exports are made one after the other; accounts take turns.
"""

import asyncio
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rlds_kit.base.extras import needs
from rlds_kit.convert.protocol import ConversionError
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, require
from rlds_kit.studio.api.answer import answer
from rlds_kit.studio.api.body import read
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.export.choosing import NewExport, filtered, picked
from rlds_kit.studio.export.exports import Exports
from rlds_kit.studio.export.job import Job, State
from rlds_kit.studio.export.plan import together
from rlds_kit.studio.export.rules import Chosen

with needs("studio"):
    from starlette.requests import Request
    from starlette.responses import FileResponse, Response
    from starlette.routing import BaseRoute, Route


def export_routes(exports: Exports, database: Database, recordings: Path) -> Sequence[BaseRoute]:
    """The routes of exports.

    Args:
      exports: of the server; already entered as a context.
      database: of the studio.
      recordings: what the directories of episodes are below.
    """
    routes = _Routes(exports, database, recordings)
    one = "/api/exports/{export}"
    return (
        Route("/api/exports", routes.add, methods=["POST"]),
        Route("/api/exports", routes.list, methods=["GET"]),
        Route(one, routes.get, methods=["GET"]),
        Route(one, routes.remove, methods=["DELETE"]),
        Route(f"{one}/again", routes.again, methods=["POST"]),
        Route(f"{one}/file", routes.file, methods=["GET"]),
        Route(f"{one}/files", routes.files, methods=["GET"]),
        Route(f"{one}/files/{{name:path}}", routes.file_of, methods=["GET"]),
    )


@dataclass(frozen=True, slots=True)
class _Routes:
    """The endpoints."""

    exports: Exports
    database: Database
    recordings: Path

    async def add(self, request: Request) -> Response:
        account = account_of(request)
        wanted = await read(request, NewExport)
        if not wanted.archive:
            require(account, Action.EXPORT_FOLDER)
        if wanted.filter is not None:
            chosen = await filtered(self.database, account, self.recordings, wanted.filter)
        else:
            chosen = await picked(self.database, account, self.recordings, wanted.episodes or [])
        await asyncio.to_thread(_require_together, chosen, "episodes" if wanted.filter is None else "filter")
        job = await self.exports.add(account.id, wanted.name, chosen, wanted.rules(), is_archive=wanted.archive)
        return answer({"export": self._shown(account, job)}, 202)

    async def list(self, request: Request) -> Response:
        account = account_of(request)
        await self.exports.expire()
        return answer({"exports": [self._shown(account, job) for job in self.exports.of(account.id)]})

    async def get(self, request: Request) -> Response:
        account, job = self._job(request)
        return answer({"export": self._shown(account, job)})

    async def remove(self, request: Request) -> Response:
        account, job = self._job(request)
        return answer({"export": self._shown(account, await self.exports.remove(job))})

    async def again(self, request: Request) -> Response:
        account, job = self._job(request)
        return answer({"export": self._shown(account, await self.exports.again(job))}, 202)

    async def file(self, request: Request) -> Response:
        _, job = self._job(request)
        if not job.is_archive:
            raise ApiError(404, "not_found", "this export is a folder; request its files", "export")
        files = await asyncio.to_thread(self.exports.files, job)
        return _sent(files, next(iter(files), ""))

    async def files(self, request: Request) -> Response:
        _, job = self._job(request)
        files = await asyncio.to_thread(self.exports.files, job)
        return answer({"files": [{"name": name, "bytes": path.stat().st_size} for name, path in files.items()]})

    async def file_of(self, request: Request) -> Response:
        _, job = self._job(request)
        return _sent(await asyncio.to_thread(self.exports.files, job), request.path_params["name"])

    def _job(self, request: Request) -> tuple[Account, Job]:
        account = account_of(request)
        return account, self.exports.get(account.id, request.path_params["export"])

    def _shown(self, account: Account, job: Job) -> dict[str, Any]:
        is_shown = account.role is Role.DESIGNER and not job.is_archive
        return {
            "id": job.id,
            "name": job.name,
            "archive": job.is_archive,
            "episodes": job.episodes,
            "rules": job.rules,
            "created_ns": job.created_ns,
            "state": job.state.value,
            "progress": job.progress,
            "error": job.error.replace(f"{self.recordings}{os.sep}", ""),
            "path": str(self.exports.place(job)) if is_shown else None,
            "report": job.report,
            "can_retry": job.state is State.FAILED and not job.is_final,
            "expires_ns": self.exports.expires_ns(job) if job.state.is_over else None,
        }


def _require_together(chosen: Sequence[Chosen], where: str) -> None:
    """Refuses at once what would always fail.

    Raises:
      ApiError: one dataset cannot store all of the episodes.
    """
    names = {each.directory: str(each.public.get("environment_name", "")) for each in chosen}
    try:
        together(names, names)
    except ConversionError as error:
        raise ApiError(400, "differ", str(error), where) from error


def _sent(files: dict[str, Path], name: str) -> Response:
    """One of the given files; other names are refused."""
    if name not in files:
        raise ApiError(404, "not_found", "the export has no such file; it may have been deleted", "name")
    headers = {"Cache-Control": "private, no-cache", "X-Content-Type-Options": "nosniff"}
    media = "application/zip" if name.endswith(".zip") else "application/octet-stream"
    return FileResponse(files[name], headers=headers, media_type=media, filename=Path(name).name)
