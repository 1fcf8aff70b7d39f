"""After a studio was killed: completes the rows of its open sessions from the recordings."""

import asyncio
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import rlds_kit
from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.episode.episode import Episode
from rlds_kit.riegeli import RiegeliError
from rlds_kit.storage.directory import is_dataset
from rlds_kit.studio.accounts.anonymous import episode_id as public_id_of
from rlds_kit.studio.database import episodes, sessions
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.sessions import SERVER_LOST, Session
from rlds_kit.studio.replay.profile import episode_return
from rlds_kit.trials import Status

with needs("studio"):
    from sqlalchemy import Connection

log = logging.getLogger(__name__)
_UNREADABLE: Final = (RldsKitError, RiegeliError, OSError)


@dataclass(frozen=True, slots=True)
class _Found:
    """An episode in a recording.

    Attributes:
      id: of the episode.
      session: that it was played in.
      number: in the session.
      version: of the study.
      status: how it ended.
      reason: why.
      steps: number of steps.
      total_reward: of these steps.
    """

    id: str
    session: str
    number: int
    version: int
    status: Status
    reason: str
    steps: int
    total_reward: float


async def recover(database: Database, recordings: Path, server: str, secret: bytes) -> int:
    """Ends the sessions that a server left open, and writes the rows of their episodes from the recordings.

    Saved episodes whose rows the database did not store get them; episodes that were being played become abandoned,
    with the steps that were recorded.

    Args:
      database: of the studio.
      recordings: the directory of all recordings.
      server: its name; it must not run.
      secret: that ids of published data are made with.

    Returns:
      How many sessions were open.
    """
    left = {each.id: each for each in await database.run(sessions.left_open, server)}
    for directory in sorted({each.directory for each in left.values()}):
        known = await database.run(episodes.ended, directory)
        found, is_whole = await asyncio.to_thread(_recorded, recordings / directory, known)
        for each in found:
            if each.session in left:
                await database.run(_write, each, left[each.session], secret)
        if is_whole:  # rows still "being played" have no step on the disk
            here = [each.id for each in left.values() if each.directory == directory]
            await database.run(episodes.drop_playing, here)
    return await database.run(sessions.end_left_open, server)


def _recorded(directory: Path, known: frozenset[str]) -> tuple[list[_Found], bool]:
    """The episodes of a recording except the known ones, and whether all of it could be read."""
    if not is_dataset(directory):
        return [], True  # nothing was recorded yet
    found: list[_Found] = []
    try:
        dataset = rlds_kit.open(directory, include_open=True)
    except _UNREADABLE:
        log.exception("%s cannot be read; `rlds-kit repair` may help", directory)
        return [], False
    is_whole = not dataset.damage
    for each in dataset.episodes:
        if each.id.hex not in known:
            try:
                found.append(_of(each))
            except _UNREADABLE:
                log.exception("episode %s cannot be read", each.id)
                is_whole = False
    return found, is_whole


def _of(episode: Episode) -> _Found:
    """An episode as it was recorded; without a status, the server ended before the episode did."""
    metadata = episode.metadata
    return _Found(
        id=episode.id.hex,
        session=str(metadata.get("session")),
        number=metadata.get("number", 0),
        version=metadata.get("study_version", 0),
        status=Status(metadata.get("status", Status.ABANDONED.value)),
        reason=metadata.get("reason", SERVER_LOST),
        steps=max(0, episode.length - 1),
        total_reward=episode_return(episode),
    )


def _write(connection: Connection, found: _Found, session: Session, secret: bytes) -> None:
    if not episodes.exists(connection, found.id):
        public = public_id_of(secret, session.study_id, session.id, found.number)
        episodes.begin(connection, found.id, public, found.number, session, found.version, session.directory)
    episodes.finish(connection, found.id, found.status, found.reason, found.steps, found.total_reward)
