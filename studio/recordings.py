"""The recordings of a studio, for its replay."""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import rlds_kit
from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, is_allowed, relation_to, require
from rlds_kit.studio.api.guard import account_of
from rlds_kit.studio.database import episodes
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.replay.collection import Collection
from rlds_kit.studio.replay.library import Admitted, Deed

with needs("studio"):
    from starlette.requests import HTTPConnection

MOST_OPEN: Final = 64
"""Maximum number of open datasets; then the least recently used one is closed."""
_ACTIONS: Final = {Deed.SEE: Action.EPISODE_SEE, Deed.ANNOTATE: Action.EPISODE_TAG}


class Recordings:
    """Finds the dataset of an episode, and decides who may see it; see `replay.library.Library`.

    Args:
      directory: that all recordings are below.
      database: of the studio.
    """

    def __init__(self, directory: Path, database: Database) -> None:
        self._directory, self._database = directory, database
        self._open: OrderedDict[str, Collection] = OrderedDict()
        self._one_at_a_time = asyncio.Lock()

    async def admit(self, connection: HTTPConnection, deed: Deed, episode: uuid.UUID) -> Admitted:
        """Checks that the person of a request may do an action with an episode.

        Raises:
          ApiError: the person is not logged in.
          NotFoundError: there is no such episode; or the login of an open page has ended.
          ForbiddenError: they may not.
        """
        account = account_of(connection)
        if connection.scope["type"] == "websocket":  # the socket may outlive the login
            await self._database.run(login.identify, account.token_id)
        found = await self._database.run(episodes.get, episode.hex)
        require(account, _ACTIONS[deed], found)
        relation = relation_to(account, found)
        return Admitted(
            await self.collection(found.directory),
            source=_source(account, found),
            can_annotate=is_allowed(account.role, Action.EPISODE_TAG, relation),
            can_retract_all=found.study_owner_id == account.id,
        )

    async def annotated(self, episode: uuid.UUID, labels: Sequence[str]) -> None:
        """Updates the tags in the table of episodes from the recording."""
        await self._database.run(episodes.set_tags, episode.hex, labels)

    async def collection(self, directory: str) -> Collection:
        """The dataset in a directory below that of all recordings."""
        async with self._one_at_a_time:
            if directory not in self._open:
                self._open[directory] = await asyncio.to_thread(self._opened, directory)
            self._open.move_to_end(directory)
            while len(self._open) > MOST_OPEN:
                await asyncio.to_thread(self._open.popitem(last=False)[1].close)
            return self._open[directory]

    async def close(self) -> None:
        """Closes all datasets."""
        for each in self._open.values():
            await asyncio.to_thread(each.close)
        self._open.clear()

    def _opened(self, directory: str) -> Collection:
        return Collection(rlds_kit.open(self._directory / directory, include_open=True))


def _source(account: Account, episode: episodes.Episode) -> str:
    """The source of an annotation: recordings do not reveal the identity of participants."""
    own = {episode.user_id: episode.agent_id, **episode.people}.get(account.id)
    return own or f"{account.role.value} {account.id[:8]}"
