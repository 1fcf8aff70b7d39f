"""Removes deleted episodes from recordings, when a studio starts and nothing is recorded."""

import asyncio
import logging
import shutil
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from rlds_kit.base.append_file import sync_directory
from rlds_kit.base.errors import RldsKitError
from rlds_kit.riegeli import RiegeliError
from rlds_kit.storage.directory import is_dataset
from rlds_kit.studio.database import episodes
from rlds_kit.studio.database.database import Database
from rlds_kit.tools.edit.delete import delete
from rlds_kit.tools.upkeep.source import read_source

log = logging.getLogger(__name__)
_NEW: Final = ".kept"
_OLD: Final = ".deleted"


async def purge(database: Database, recordings: Path, server: str) -> int:
    """Rewrites the recordings that have deleted episodes, without these; other episodes stay the same, bit for bit.

    If this fails because a recording is damaged or the disk is full, the next start tries again.

    Args:
      database: of the studio.
      recordings: the directory of all recordings.
      server: its name; recordings of other servers are on their disks.

    Returns:
      How many episodes were removed.
    """
    done = 0
    for directory, deleted in (await database.run(episodes.deleted, server)).items():
        path = recordings / directory
        try:
            is_done = await asyncio.to_thread(_without, path, [uuid.UUID(each) for each in deleted])
        except (RldsKitError, RiegeliError, OSError):
            log.exception("%s still has %d episodes that were deleted", path, len(deleted))
            continue
        if is_done:
            await database.run(episodes.forget_deleted, deleted)
            done += len(deleted)
    return done


def _without(path: Path, deleted: Sequence[uuid.UUID]) -> bool:
    """Replaces a recording; False if a writer still has it open."""
    new, old = (path.with_name(path.name + end) for end in (_NEW, _OLD))
    if old.exists() and not path.exists():  # an earlier run was interrupted before the second rename
        old.rename(path)
    for left in (new, old):
        shutil.rmtree(left, ignore_errors=True)
    if not is_dataset(path):
        return True
    source = read_source(path)
    if source.left_out:
        return False
    there = {each.id for each in source.episodes}.intersection(deleted)
    if there:
        log.warning("removing %d deleted episodes from %s", len(there), path)
        delete(path, new, there)
        path.rename(old)
        new.rename(path)
        sync_directory(path.parent)  # before the old one is deleted: else a power failure may destroy both
        shutil.rmtree(old)
        sync_directory(path.parent)  # before the deletion's row goes: else a power failure may restore episodes
    return True
