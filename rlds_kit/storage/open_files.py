"""The open shards of a dataset, and its cache of decoded columns."""

import os
import threading
import weakref
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from rlds_kit.remote.directory import Want
from rlds_kit.remote.path import RemotePath
from rlds_kit.storage.block_cache import CACHE_BYTES, BlockCache, ColumnStore
from rlds_kit.storage.episode_entry import EpisodeEntry
from rlds_kit.storage.episode_reader import EpisodeReader
from rlds_kit.storage.shard_file import ShardFile

OPEN_FILES: Final = 128
"""Maximum number of open shards."""
RECORD_BYTES: Final = 2 << 10
"""Bytes to prefetch for an episode's start or end: about its size with metadata."""


class OpenFiles:
    """The open shards and the cache of a dataset and its views; each process has its own."""

    def __init__(self, cache_bytes: int = CACHE_BYTES) -> None:
        self._lock = threading.Lock()
        self._open: dict[str, ShardFile] = {}
        self._cache_bytes, self._store = cache_bytes, ColumnStore(cache_bytes)
        _all.add(self)

    def get(self, directory: Path, name: str) -> tuple[ShardFile, BlockCache]:
        """Returns a shard, and opens it if necessary."""
        with self._lock:
            file = self._open.pop(name, None) or ShardFile(directory / name)
            self._open[name] = file
            if len(self._open) > OPEN_FILES:
                del self._open[next(iter(self._open))]  # closed when its last reader releases it
        return file, BlockCache(self._store, name)

    def fetch_records(self, directory: Path, chosen: Iterable[tuple[str, EpisodeEntry]]) -> None:
        """Prefetches the start and end records of episodes of remote files, concurrently."""
        if isinstance(directory, RemotePath):
            places = [(name, at) for name, entry in chosen for at in (entry.start, entry.end) if at]
            directory.directory.fetch(Want(name, at, at + RECORD_BYTES) for name, at in places)

    def renew(self) -> None:
        """Called in a forked child: a thread that does not exist there may have owned the locks."""
        self._lock = threading.Lock()
        self._store.renew()

    def __reduce__(self) -> tuple[type["OpenFiles"], tuple[int]]:
        return OpenFiles, (self._cache_bytes,)

    def reader(self, directory: Path, name: str, entry: EpisodeEntry) -> EpisodeReader:
        """Reads an episode of a shard."""
        file, cache = self.get(directory, name)
        return EpisodeReader(file, entry, cache)


_all: "weakref.WeakSet[OpenFiles]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for files in list(_all):
        files.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
