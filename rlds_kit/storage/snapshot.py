"""Lists the episodes of a directory at one moment."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import overload

import numpy as np

from rlds_kit.base.errors import DamageWarning, LossWarning
from rlds_kit.remote.path import RemotePath
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import ShardContents, contents
from rlds_kit.storage.entries import Entries
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.manifest import ADVICE, Manifests, losses, read_manifests, summary
from rlds_kit.storage.shard_file import ShardFile


def read_shards(directory: Path, known: dict[str, ShardContents]) -> dict[str, ShardContents]:
    """Reads the content of every shard; shards that were already closed in the previous call are not read again.

    Warns:
      DamageWarning: bytes are damaged.
      LossWarning: in the first call, a closed file is missing or has changed.
    """
    if known and isinstance(directory, RemotePath):
        directory.relist()
    manifests = Manifests() if known else read_manifests(directory)
    found, paths = {}, directories.shards_in(directory)
    if isinstance(directory, RemotePath):
        directory.fetch_indexes(path for path in paths if path.name not in known)
    for path in paths:
        before = known.get(path.name)
        found[path.name] = before if before is not None and before.is_indexed else contents(ShardFile(path))
        if found[path.name].skipped and before is None:
            _warn_of_damage(path, found[path.name])
    if lost := losses(directory, manifests, request=False):
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


class Listing(Sequence[tuple[str, EpisodeEntry]]):
    """Episodes with the names of their shards.

    Attributes:
      names: of the shards, one for each table of the entries.
      entries: the episodes.
    """

    def __init__(self, names: Sequence[str], entries: Entries) -> None:
        self.names, self.entries = tuple(names), entries

    def __len__(self) -> int:
        return len(self.entries)

    @overload
    def __getitem__(self, index: int) -> tuple[str, EpisodeEntry]: ...

    @overload
    def __getitem__(self, index: slice | np.ndarray) -> "Listing": ...

    def __getitem__(self, index: int | slice | np.ndarray) -> "tuple[str, EpisodeEntry] | Listing":
        """An episode, or several."""
        if isinstance(index, slice | np.ndarray):
            return Listing(self.names, self.entries[index])
        return self.names[self.entries.table(index)], self.entries[index]


def listed(shards: dict[str, ShardContents], known: Listing | None = None, *, include_open: bool) -> Listing:
    """Known episodes in their order, then the others by shard and start."""
    entries = Entries([shard.episodes for shard in shards.values()])
    if not include_open:
        is_locked = np.array([shard.is_locked for shard in shards.values()], np.bool_)
        entries = entries[~is_locked[entries.tables_of()] | (entries.column("end") > 0)]
    entries = _each_once(entries)
    if known is not None:
        entries = _in_order(entries, known.entries)
    return Listing(tuple(shards), entries)


def _each_once(entries: Entries) -> Entries:
    """Without all but the most complete of entries with the same id; the others are copies, or parts of it."""
    halves = np.sort(entries.column("episode_id", np.uint8).view(np.uint64)[:, 0])
    if (halves[1:] != halves[:-1]).all():
        return entries  # the usual case: the first halves of all ids are different
    found: dict[bytes, int] = {}
    for number, key in enumerate(entries.ids().tolist()):
        before = found.get(key)
        if before is None or _completeness(entries[before]) <= _completeness(entries[number]):
            found[key] = number  # in the place of the first of them
    return entries[np.array(list(found.values()), np.int64)]


def _in_order(entries: Entries, known: Entries) -> Entries:
    """The known episodes that are still there in their order, then the others."""
    numbers = {key: number for number, key in enumerate(entries.ids().tolist())}
    first = [numbers.pop(key) for key in known.ids().tolist() if key in numbers]
    return entries[np.array(first + list(numbers.values()), np.int64)]


def _completeness(entry: EpisodeEntry) -> tuple[bool, bool, int]:
    """A sort key for entries with the same id: one is a copy, or a part that came into another shard by accident."""
    return entry.start > 0, entry.end > 0, len(entry.blocks)
