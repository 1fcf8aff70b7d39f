"""Recorded data that tasks of a studio show, besides the studio's own recordings."""

import asyncio
import uuid
from collections.abc import Sequence
from pathlib import Path

import rlds_kit
from rlds_kit.base.extras import needs
from rlds_kit.layers import Layer
from rlds_kit.studio.accounts.permissions import ForbiddenError
from rlds_kit.studio.api.errors import ApiError
from rlds_kit.studio.database.errors import NotFoundError
from rlds_kit.studio.recordings import Recordings
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.library import Admitted, Deed

with needs("studio"):
    from starlette.requests import HTTPConnection


class _Unlabelled(Collection):
    """A dataset whose annotations are not shown: a rater does not see the judgements of others."""

    def layers(self) -> list[Layer]:
        """Returns no layers."""
        return []


class WithDatasets:
    """The recordings of a studio and datasets of its tasks; see `replay.library.Library`.

    Args:
      recordings: of the studio.
      datasets: directories; every user who is logged in may see their episodes, and no user may annotate them here.
    """

    def __init__(self, recordings: Recordings, datasets: Sequence[Path]) -> None:
        self._recordings = recordings
        self._given = [_Unlabelled(rlds_kit.open(each, include_open=True)) for each in datasets]

    async def admit(self, connection: HTTPConnection, deed: Deed, episode: uuid.UUID) -> Admitted:
        """See `Recordings.admit`."""
        try:
            return await self._recordings.admit(connection, deed, episode)
        except NotFoundError:
            found = await asyncio.to_thread(self._find, episode)
            if found is None:
                raise
        if deed is Deed.ANNOTATE:
            raise ForbiddenError("you may not annotate this episode here; answer the question about it")
        return Admitted(found, source="", can_annotate=False)

    async def annotated(self, episode: uuid.UUID, labels: Sequence[str]) -> None:
        """See `Recordings.annotated`."""
        await self._recordings.annotated(episode, labels)

    def _find(self, episode: uuid.UUID) -> Collection | None:
        for each in self._given:
            try:
                each.number(episode)
            except ApiError:
                continue
            return each
        return None
