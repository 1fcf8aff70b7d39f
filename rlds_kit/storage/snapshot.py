"""Lists the episodes of a directory at one moment."""

import warnings
from collections.abc import Sequence
from pathlib import Path

from rlds_kit.base.errors import DamageWarning, LossWarning
from rlds_kit.remote.path import RemotePath
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import ShardContents, contents
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.manifest import ADVICE, Manifests, losses, read_manifests, summary
from rlds_kit.storage.shard_file import ShardFile


def look(directory: Path, known: dict[str, ShardContents]) -> dict[str, ShardContents]:
    """Reads the content of every shard; shards that were already closed at the previous look are not read again.

    Warns:
      DamageWarning: bytes are damaged.
      LossWarning: at the first look, a closed file is missing or has changed.
    """
    if known and isinstance(directory, RemotePath):
        directory.relist()
    said = Manifests() if known else read_manifests(directory)
    found, paths = {}, directories.shards_in(directory)
    if isinstance(directory, RemotePath):
        directory.fetch_indexes(path for path in paths if path.name not in known)
    for path in paths:
        before = known.get(path.name)
        found[path.name] = before if before is not None and before.is_indexed else contents(ShardFile(path))
        if found[path.name].skipped and before is None:
            _warn_of_damage(path, found[path.name])
    if lost := losses(directory, said, ask=False):
        warnings.warn(f"{directory}: lost {summary(lost)}. {ADVICE}", LossWarning, stacklevel=3)
    return found


def _warn_of_damage(path: Path, shard: ShardContents) -> None:
    count = sum(region.end - region.begin for region in shard.skipped)
    warnings.warn(
        f"{path}: {count} bytes in {len(shard.skipped)} places are damaged; episodes wholly in them are not listed. "
        "`rlds-kit verify` names the damage, `rlds-kit repair` saves the rest.",
        DamageWarning,
        stacklevel=4,
    )


def listed(
    shards: dict[str, ShardContents], known: Sequence[bytes], *, include_open: bool
) -> list[tuple[str, EpisodeEntry]]:
    """Known episodes in their order, then the others by shard and start."""
    found: dict[bytes, tuple[str, EpisodeEntry]] = {}
    for name, shard in shards.items():
        for entry in shard.episodes:
            if not (include_open or entry.end or not shard.is_locked):
                continue
            before = found.get(entry.episode_id)
            if before is None or _completeness(before[1]) <= _completeness(entry):
                found[entry.episode_id] = name, entry
    first = [found.pop(episode_id) for episode_id in known if episode_id in found]
    return first + list(found.values())


def _completeness(entry: EpisodeEntry) -> tuple[bool, bool, int]:
    """A sort key for entries with the same id: one is a copy, or a part that came into another shard by accident."""
    return entry.start > 0, entry.end > 0, len(entry.blocks)
