"""A remote directory: its files as they were at the first access, and their bytes through caches."""

import os
import threading
import weakref
from collections.abc import Callable, Collection, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from fnmatch import fnmatchcase
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

from rlds_kit.remote.address import Address
from rlds_kit.remote.errors import RemoteChangedError, RemoteError
from rlds_kit.remote.http import store_of
from rlds_kit.remote.memory_cache import MEMORY_CACHE_BYTES, MemoryCache
from rlds_kit.remote.range_map import Piece, RangeMap, joined
from rlds_kit.remote.ranges import Range, coalesced
from rlds_kit.remote.retry import retried
from rlds_kit.remote.store import MANIFESTS, Info, Listed, Store

REQUESTS: Final = 16
"""Concurrent requests of each thread that reads."""
GROUP_BYTES: Final = MEMORY_CACHE_BYTES // 2
"""Bytes that are fetched before they are written to the caches."""
HEAD_BYTES: Final = 8 << 10
"""Bytes at the beginning of a shard: its signature and, except for very long specs, its first record."""
TAIL_BYTES: Final = 128 << 10
"""Bytes of a shard before its last block: the index, the footer, and up to 64 KiB of padding."""
LAST_BLOCK: Final = 64 << 10
POSTSCRIPT_BYTES: Final = 4 << 10
"""Bytes of the last block: the position of the footer. Zeros follow."""

S = TypeVar("S")
T = TypeVar("T")


class Want(NamedTuple):
    """Bytes `[begin, end)` of a file."""

    name: str
    begin: int
    end: int


class RemoteDirectory:
    """The files of a directory. Safe to use from several threads and after a fork, and cheap to pickle.

    Args:
      address: of the directory.
      options: of its file system.
      cache_bytes: size limit of the disk cache; None: from the environment variable.
      infos: of files that were accessed before.
      listed: all files, by name, if they are known.
    """

    def __init__(
        self,
        address: Address,
        options: Mapping[str, Any] | None = None,
        cache_bytes: int | None = None,
        infos: Mapping[str, Info] | None = None,
        listed: Mapping[str, Listed] | None = None,
    ) -> None:
        self.address, self._options, self._cache_bytes = address, dict(options or {}), cache_bytes
        self._infos = dict(infos or {})
        self._listed = None if listed is None else dict(listed)
        self.renew()
        _all.add(self)

    def __reduce__(self) -> tuple[type["RemoteDirectory"], tuple[Any, ...]]:
        return RemoteDirectory, (self.address, self._options, self._cache_bytes, self._infos, self._listed)

    def __repr__(self) -> str:
        return f"RemoteDirectory({self.address.shown()!r})"

    def renew(self) -> None:
        """Resets the caches with new locks; also called in a forked child, whose copies of them may be locked."""
        self._lock = threading.Lock()
        self._memory = MemoryCache()
        self._fresh: set[str] = set()
        self._store_here: Store | None = None
        self._disk_here: Any = None  # a DiskCache

    @property
    def cache_limit(self) -> int:
        """Maximum bytes of the larger of the two caches."""
        from rlds_kit.remote.disk_cache import limit_of

        return max(MEMORY_CACHE_BYTES, limit_of(self._cache_bytes))

    def names(self) -> tuple[str, ...]:
        """The files of the latest listing.

        Raises:
          FileNotFoundError: there is no such directory.
          RemoteError: it cannot be listed.
        """
        if self._listed is None:
            self.relist()
        return tuple(self._listed or ())

    def relist(self) -> None:
        """Lists the files again. Known files must not have changed, except manifests.

        Raises:
          RemoteChangedError: a known file has changed.
        """
        found = retried(lambda: self._store().listing(), self.address.shown())
        for name, listed in found.items():
            known, before = self._infos.get(name), (self._listed or {}).get(name, listed)
            if listed.sha256 != before.sha256 or (listed.info and known and listed.info != known):
                if fnmatchcase(name, MANIFESTS):
                    self._forget(name)
                    continue
                raise RemoteChangedError(
                    f"{self.address.shown(name)} changed since the dataset was opened; open it again to read what is "
                    "there now"
                )
        self._infos |= {name: listed.info for name, listed in found.items() if listed.info}
        self._listed = dict(sorted(found.items()))

    def _forget(self, name: str) -> None:
        """Drops everything that is cached for a file that has been replaced."""
        with self._lock:
            self._infos.pop(name, None)
            self._memory.drop(name)

    def known(self, name: str) -> tuple[Info | None, str]:
        """What is known about a file without a request: its info, if any, and the SHA-256 in the listing."""
        return self._infos.get(name), (self._listed or {}).get(name, Listed()).sha256

    def info(self, name: str) -> Info:
        """Size and version of a file; requested once.

        Raises:
          FileNotFoundError: it is not there.
        """
        known = self._infos.get(name)
        if known is None:
            known, first = retried(lambda: self._store().first(name), self.address.shown(name))
            with self._lock:
                known = self._infos.setdefault(name, known)
            if first:
                self._memory.add(name, 0, first)
        return known

    def read(self, name: str, begin: int, end: int) -> bytes:
        """Bytes of a file, fewer only at its end.

        Raises:
          FileNotFoundError: it is not there.
          RemoteChangedError: it changed since the first access.
          RemoteError: it cannot be read.
        """
        end = min(end, self.info(name).size)
        if begin >= end:
            return b""
        data = self._memory.get(name, begin, end)
        if data is None:
            data = joined(self._gathered([Want(name, begin, end)])[name], begin, end)
        if data is None:
            raise RemoteError(
                f"{self.address.shown(name)}: bytes {begin} to {end} were not in what was fetched for them"
            )
        return data

    def in_memory(self, name: str, begin: int, end: int) -> bytes | None:
        """Bytes of a file, if they are in memory."""
        return self._memory.get(name, begin, end) if begin < end else b""

    def is_fresh(self, name: str) -> bool:
        """Whether all cached bytes of a file were fetched again after `freshen`."""
        return name in self._fresh

    def freshen(self, name: str) -> None:
        """Drops, once, the cached bytes of a file in which damage was found: a cache or proxy may be the cause."""
        if name in self._fresh:
            return
        if identity := self._identity(name):
            self._disk().drop(identity)
        with self._lock:  # after the disk cache, which could fill memory again
            self._fresh.add(name)
            self._memory.drop(name)

    def fetch(self, wants: Iterable[Want]) -> None:
        """Prefetches ranges for `read`: adjacent ranges in one request, and many requests concurrently.

        Raises:
          RemoteError: as `read`.
        """
        wants = list(wants)
        unknown = sorted({want.name for want in wants} - self._infos.keys())
        _each(self.info, unknown)
        group, size = list[Want](), 0
        for want in wants:
            end = min(want.end, self._infos[want.name].size)
            if want.begin >= end or self._memory.get(want.name, want.begin, end) is not None:
                continue
            group.append(Want(want.name, want.begin, end))
            size += end - want.begin
            if size >= GROUP_BYTES:
                self._gathered(group)
                group, size = [], 0
        if group:
            self._gathered(group)

    def fetch_indexes(self, names: Iterable[str]) -> None:
        """Prefetches the bytes for opening shards: two requests for each, all shards concurrently."""
        names = list(names)
        _each(self.info, [name for name in names if name not in self._infos])
        wants = []
        for name in names:
            last = self._infos[name].size - LAST_BLOCK
            wants += [Want(name, 0, HEAD_BYTES), Want(name, max(0, last - TAIL_BYTES), max(0, last + POSTSCRIPT_BYTES))]
        self.fetch(wants)

    def fetch_whole(self, names: Iterable[str]) -> None:
        """Prefetches small files, concurrently."""
        names = list(names)
        _each(self.info, [name for name in names if name not in self._infos])
        self.fetch([Want(name, 0, self._infos[name].size) for name in names])

    def _gathered(self, wants: Iterable[Want]) -> dict[str, RangeMap[bytes]]:
        """Collects the requested ranges: from memory, from the disk cache, and the rest from the server."""
        found: dict[str, RangeMap[bytes]] = {}
        missing: dict[str, list[tuple[int, int]]] = {}
        fresh = frozenset(self._fresh)
        for want in wants:
            file = found.setdefault(want.name, RangeMap())
            for piece in self._memory.pieces(*want):
                file.add(*piece)
            for gap in self._memory.missing(*want):
                for piece in self._on_disk(want.name, gap):
                    file.add(*piece)
                    self._add_to_memory(want.name, piece.begin, piece.value, fresh)
            missing.setdefault(want.name, []).extend(file.missing(want.begin, want.end))
        jobs = [Want(name, *each) for name, ranges in missing.items() for each in coalesced(ranges)]
        for name, pieces in self._requested(jobs).items():
            for begin, data in pieces:
                found[name].add(begin, begin + len(data), data)
                self._add_to_memory(name, begin, data, fresh)
            if (identity := self._identity(name)) and (name in fresh or not self.is_fresh(name)):
                self._disk().add(identity, pieces)
        return found

    def _add_to_memory(self, name: str, begin: int, data: bytes, fresh: Collection[str]) -> None:
        """Caches bytes in memory, unless `freshen` was called meanwhile: they may be the damaged ones."""
        with self._lock:
            if name in fresh or name not in self._fresh:
                self._memory.add(name, begin, data)

    def _on_disk(self, name: str, wanted: Range) -> list[Piece[bytes]]:
        identity = self._identity(name)
        found: list[Piece[bytes]] = self._disk().get(identity, *wanted) if identity else []
        return found

    def _requested(self, jobs: list[Want]) -> dict[str, list[tuple[int, bytes]]]:
        """Fetches ranges from the store and checks that they are of the known versions; returns the bytes by file."""
        answers: dict[str, list[tuple[int, bytes]]] = {}
        for job, data in zip(jobs, _each(self._request, jobs), strict=True):
            answers.setdefault(job.name, []).append((job.begin, data))
        versions = {name: self._infos[name] for name in answers}
        _each(lambda name: self._confirm(name, versions[name]), list(answers))
        return answers

    def _request(self, job: Want) -> bytes:
        place = f"{self.address.shown(job.name)}, bytes {job.begin} to {job.end}"
        read = partial(self._store().read, *job, self.info(job.name))
        try:
            return retried(read, place)
        except FileNotFoundError:
            raise RemoteError(f"{place}: the file is not there any more; open the dataset again") from None

    def _confirm(self, name: str, info: Info) -> None:
        try:
            retried(lambda: self._store().confirm({name: info}), self.address.shown(name))
        except FileNotFoundError:
            raise RemoteError(f"{self.address.shown(name)} is not there any more; open the dataset again") from None

    def _identity(self, name: str) -> str:
        """Identifies a file and its version; empty if only its size is known: then it is not cached on disk."""
        info, listed = self._infos[name], (self._listed or {}).get(name, Listed())
        version = f"{info.version} {listed.sha256}".strip()
        return version and f"{self.address.of(name)} {info.size} {version}"

    def _store(self) -> Store:
        with self._lock:
            if self._store_here is None:
                self._store_here = store_of(self.address, self._options)
            return self._store_here

    def _disk(self) -> Any:  # a DiskCache, which is imported only when it is used
        from rlds_kit.base.cache import cache_directory
        from rlds_kit.remote.disk_cache import DiskCache, limit_of

        with self._lock:
            if self._disk_here is None:
                self._disk_here = DiskCache(cache_directory() / "remote", limit_of(self._cache_bytes))
            return self._disk_here


def _each(call: Callable[[S], T], items: list[S]) -> list[T]:
    """Calls `call` for each item, several concurrently, and returns the results."""
    if len(items) <= 1:
        return [call(item) for item in items]
    with ThreadPoolExecutor(min(REQUESTS, len(items)), "rlds_kit-remote") as executor:
        return list(executor.map(call, items))


_all: "weakref.WeakSet[RemoteDirectory]" = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for directory in list(_all):
        directory.renew()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork_in_child)
