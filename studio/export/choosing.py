"""Which episodes of a studio an export has: those that were picked, or that match a filter."""

import uuid
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Final, Literal

from rlds_kit.base.extras import needs
from rlds_kit.convert.formats import WRITABLE
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, require
from rlds_kit.studio.api.episode_query import query_of
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.api.models import Body, RowId, Strict
from rlds_kit.studio.database import episodes
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.episodes import Episode, Query
from rlds_kit.studio.database.sessions import RECORDING
from rlds_kit.studio.export.rules import RLDS_KIT, Chosen, Rules
from rlds_kit.trials.engine.phase import Status

with needs("studio"):
    from pydantic import Field, StringConstraints, model_validator

EpisodeId = Annotated[
    str, StringConstraints(pattern=r"^[0-9a-f]{8}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{4}-?[0-9a-f]{12}$")
]
Label = Annotated[str, StringConstraints(min_length=1, max_length=200)]
FileName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_-]{0,79}$")]


class Filter(Strict):
    """Which episodes, as in the table of episodes."""

    study: RowId | None = None
    session: RowId | None = None
    user: Annotated[str, StringConstraints(max_length=64)] | None = None
    status: list[Literal["completed", "cancelled", "rejected", "abandoned"]] = Field(default_factory=list)
    tag: Label | None = None


class NewExport(Body):
    """Which episodes are exported, and how."""

    episodes: Annotated[list[EpisodeId], Field(min_length=1, max_length=10_000)] | None = None
    filter: Filter | None = None
    name: FileName = "episodes"
    archive: bool = True
    strip: bool = True
    end_tags: Annotated[list[Label], Field(max_length=100, default_factory=list)]
    tag_columns: bool = True
    format: Literal[WRITABLE] = RLDS_KIT  # type: ignore[valid-type]  # pydantic's, made of the formats

    @model_validator(mode="after")
    def _one_of_both(self) -> "NewExport":
        if (self.episodes is None) == (self.filter is None):
            raise ValueError("expected either episodes or a filter")
        return self

    def rules(self) -> Rules:
        """How."""
        return Rules(strip=self.strip, end_tags=tuple(self.end_tags), tag_columns=self.tag_columns, format=self.format)


with needs("studio"):
    from sqlalchemy import Connection

MOST: Final = 100_000
"""Maximum episodes of an export."""
_TOGETHER: Final = 200
"""Rows that are read at once; other requests use the database in between."""


async def picked(database: Database, account: Account, recordings: Path, ids: Sequence[str]) -> list[Chosen]:
    """Episodes by their ids.

    Args:
      database: of the studio.
      account: that exports them.
      recordings: what the directories of episodes are below.
      ids: of the episodes.

    Raises:
      NotFoundError: there is no such episode.
      ForbiddenError: the account may not export it.
      ApiError: an episode is being played.
    """
    rows = [uuid.UUID(each).hex for each in dict.fromkeys(ids)]
    found: list[Episode] = []
    for first in range(0, len(rows), _TOGETHER):
        found += await database.run(_some, account, rows[first : first + _TOGETHER])
    return [_chosen(recordings, each) for each in found]


async def filtered(database: Database, account: Account, recordings: Path, wanted: Filter) -> list[Chosen]:
    """All episodes that match a filter and that may be exported, the oldest first.

    Only completed ones, if the filter names no status.

    Raises:
      ApiError: there are none, or too many.
    """
    found: list[Episode] = []
    while True:
        query = _query(account, wanted, len(found) // _TOGETHER)
        total, rows = await database.run(episodes.page, query)
        found += rows
        if total > MOST:
            raise ApiError(400, "invalid", f"expected at most {MOST} episodes, the filter leaves {total}", "filter")
        if len(rows) < _TOGETHER:
            break
    chosen = [_chosen(recordings, each) for each in found if each.status != RECORDING]
    if not chosen:
        raise ApiError(400, "invalid", "no episode fits the filter that you may export", "filter")
    return chosen


async def deleted(database: Database, ids: Sequence[str]) -> frozenset[str]:
    """Those of some episodes, as `Chosen` names them, that may not be exported any more."""
    rows = {uuid.UUID(each).hex: each for each in ids}
    return frozenset(rows[each] for each in await database.run(episodes.missing, list(rows)))


def _some(connection: "Connection", account: Account, rows: Sequence[str]) -> list[Episode]:
    found = [episodes.get(connection, each) for each in rows]
    for each in found:
        require(account, Action.EPISODE_EXPORT, each)
        if each.status == RECORDING:
            raise ApiError(
                409, "stale", f"the episode {each.id} is being played; export it when it is over", "episodes"
            )
    return found


def _query(account: Account, wanted: Filter, page: int) -> Query:
    query = query_of(account, Action.EPISODE_EXPORT, wanted)
    statuses = query.statuses or (Status.COMPLETED.value,)
    return replace(query, statuses=statuses, is_descending=False, page=page, size=_TOGETHER)


def _chosen(recordings: Path, episode: Episode) -> Chosen:
    public = {
        "public_id": episode.public_id,
        "agent_id": episode.agent_id,
        "study": episode.study_id,
        "study_version": episode.study_version,
        "environment_name": episode.environment_name,
        "status": episode.status,
    }
    return Chosen(str(recordings / episode.directory), str(uuid.UUID(episode.id)), public)
