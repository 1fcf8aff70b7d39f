"""A disk cache for bytes of remote files: bounded, shared by processes, and verified by hashes.

Each fetch creates one entry: a file that appears atomically, in a folder whose name identifies the remote file and its
version. An entry begins with a table of its ranges and their hashes; ranges are short, so that reading a few bytes is
cheap. An entry that does not match its hash is removed and fetched again. The least recently used entries are removed
first.
"""

import contextlib
import hashlib
import os
import struct
import threading
import uuid
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import xxhash

from rlds_kit.base import lock
from rlds_kit.remote.range_map import Piece, RangeMap

LIMIT_VARIABLE: Final = "RLDS_KIT_CACHE_BYTES"
"""Environment variable: the size limit of the cache in bytes."""
LIMIT: Final = 4 << 30
MAX_ENTRIES: Final = 8192
"""Limit on the number of files, of any size: all of them are listed to free space."""
HASHED_BYTES: Final = 64 << 10
"""Maximum length of a range with one hash; reading any byte of a range reads all of it."""
SUFFIX: Final = ".ranges"

_MAGIC: Final = b"RLDSRNG1"
_HEAD: Final = struct.Struct("<8sQ")  # magic, number of ranges
_RANGE: Final = struct.Struct("<QQQ")  # begin, length, XXH3-64
_HASH: Final = struct.Struct("<Q")  # hash of everything before


def limit_of(given: int | None) -> int:
    """The size limit of the cache in bytes: the argument, or the environment variable, or 4 GiB.

    Raises:
      ValueError: it is not a number of bytes.

    >>> limit_of(1_000_000)
    1000000
    """
    text = os.environ.get(LIMIT_VARIABLE)
    if given is None and text:
        try:
            given = int(text)
        except ValueError:
            raise ValueError(f"{LIMIT_VARIABLE}: expected a number of bytes, got {text!r}") from None
    given = LIMIT if given is None else given
    if given < 0:
        raise ValueError(f"expected a cache of 0 bytes or more, got {given}; 0 is none")
    return given


@dataclass(frozen=True, slots=True)
class _Place:
    """The position of the bytes of a range."""

    entry: Path
    offset: int
    length: int
    xxh3: int


class DiskCache:
    """The cache in a directory.

    Args:
      directory: need not exist.
      limit: bytes of all entries, of all processes; 0 disables the cache.
    """

    def __init__(self, directory: Path, limit: int) -> None:
        self._directory, self._limit = directory, limit
        self._lock = threading.Lock()
        self._known: dict[str, RangeMap[_Place]] = {}
        self._read: dict[str, set[str]] = {}
        self._has_warned = False

    def get(self, identity: str, begin: int, end: int) -> list[Piece[bytes]]:
        """Returns the cached parts of a range: whole fetched pieces, which may extend beyond it.

        Args:
          identity: of the file and its version.
          begin: first byte.
          end: one past the last.
        """
        if not self._limit:
            return []
        with self._lock:
            self._refresh(identity, begin, end)
            places = self._known[identity].pieces(begin, end)
        found = [Piece(each.begin, each.end, data) for each in places if (data := self._checked(identity, each))]
        for entry in {each.value.entry for each in places}:
            with contextlib.suppress(OSError):
                os.utime(entry)  # marks it as recently used
        return found

    def add(self, identity: str, pieces: Sequence[tuple[int, bytes]]) -> None:
        """Caches ranges of a file; ranges that do not fit, or cannot be written, are skipped.

        Args:
          identity: of the file and its version.
          pieces: first byte and content of each range.
        """
        cut = [
            (begin + at, data[at : at + HASHED_BYTES])
            for begin, data in pieces
            for at in range(0, len(data), HASHED_BYTES)
        ]
        head, places = _table(cut)
        size = len(head) + sum(len(data) for _, data in cut)
        if not cut or size > self._limit:
            return
        entry = self._folder(identity) / f"{uuid.uuid4().hex}{SUFFIX}"
        try:
            self._write(entry, head, cut, size)
        except OSError as error:
            self._warn(error)
            return
        with self._lock:
            self._read.setdefault(identity, set()).add(entry.name)
            self._learn(identity, entry, places)

    def drop(self, identity: str) -> None:
        """Removes all entries of a file, of all processes."""
        with self._lock:
            self._known.pop(identity, None)
            self._read.pop(identity, None)
        with contextlib.suppress(OSError):
            for entry in self._folder(identity).glob(f"*{SUFFIX}"):
                entry.unlink(missing_ok=True)

    def _write(self, entry: Path, head: bytes, cut: Sequence[tuple[int, bytes]], size: int) -> None:
        entry.parent.mkdir(parents=True, exist_ok=True)
        partial = entry.with_suffix(".partial")
        with lock.exclusive(self._directory / ".lock"):  # so that no two processes take the same free bytes
            self._evict_for(size)
            try:
                with partial.open("wb") as file:
                    file.write(head)
                    file.writelines(data for _, data in cut)
                partial.replace(entry)
            except OSError:
                partial.unlink(missing_ok=True)
                raise

    def _folder(self, identity: str) -> Path:
        return self._directory / hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()

    def _refresh(self, identity: str, begin: int, end: int) -> None:
        """Reads the tables of entries that other processes added, if a requested range is not known."""
        known = self._known.setdefault(identity, RangeMap())
        if not known.missing(begin, end):
            return
        read = self._read.setdefault(identity, set())
        folder = self._folder(identity)
        with contextlib.suppress(OSError):
            for entry in sorted(folder.glob(f"*{SUFFIX}")):
                if entry.name not in read:
                    read.add(entry.name)
                    self._learn(identity, entry, _read_table(entry))

    def _learn(self, identity: str, entry: Path, places: Sequence[tuple[int, int, int, int]]) -> None:
        known = self._known.setdefault(identity, RangeMap())
        for begin, offset, length, xxh3 in places:
            known.add(begin, begin + length, _Place(entry, offset, length, xxh3))

    def _checked(self, identity: str, piece: Piece[_Place]) -> bytes | None:
        """The bytes of a range; None if they are gone or do not match their hash, and then the range is dropped."""
        place = piece.value
        try:
            with place.entry.open("rb") as file:
                file.seek(place.offset)
                data = file.read(place.length)
        except OSError:
            data = b""
        if len(data) == place.length and xxhash.xxh3_64_intdigest(data) == place.xxh3:
            return data
        with self._lock:
            self._known.get(identity, RangeMap()).remove(piece.begin)
        if data:
            with contextlib.suppress(OSError):
                place.entry.unlink()
        return None

    def _evict_for(self, size: int) -> None:
        """Evicts the least recently used entries; a partial file of a killed process counts as an entry."""
        entries = sorted(_entries(self._directory))
        total, count = sum(each_size for _, each_size, _ in entries), len(entries)
        for _, each_size, path in entries:
            if total + size <= self._limit and count < MAX_ENTRIES:
                return
            with contextlib.suppress(OSError):
                os.unlink(path)  # noqa: PTH108  a Path for each of thousands takes longer than removing it
            total, count = total - each_size, count - 1

    def _warn(self, error: OSError) -> None:
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"{self._directory}: remote data cannot be cached there ({error}), and is fetched again when it is "
                f"read again; set RLDS_KIT_CACHE to another directory, or {LIMIT_VARIABLE}=0",
                RuntimeWarning,
                stacklevel=2,
            )


def _entries(directory: Path) -> Iterator[tuple[int, int, str]]:
    """Lists the entries: the time of the last use, the size and the path of each."""
    with os.scandir(directory) as folders:
        for folder in folders:
            if folder.is_dir():
                with contextlib.suppress(FileNotFoundError), os.scandir(folder) as files:
                    for file in files:
                        with contextlib.suppress(FileNotFoundError):
                            found = file.stat()
                            yield found.st_mtime_ns, found.st_size, file.path


def _table(cut: Sequence[tuple[int, bytes]]) -> tuple[bytes, list[tuple[int, int, int, int]]]:
    """The table of an entry, as bytes, and as begin, offset in the entry, length and hash of each range."""
    offset = _HEAD.size + len(cut) * _RANGE.size + _HASH.size
    rows, places = [_HEAD.pack(_MAGIC, len(cut))], []
    for begin, data in cut:
        xxh3 = xxhash.xxh3_64_intdigest(data)
        rows.append(_RANGE.pack(begin, len(data), xxh3))
        places.append((begin, offset, len(data), xxh3))
        offset += len(data)
    head = b"".join(rows)
    return head + _HASH.pack(xxhash.xxh3_64_intdigest(head)), places


def _read_table(entry: Path) -> list[tuple[int, int, int, int]]:
    """Begin, offset, length and hash of each range of an entry; empty if the table is invalid."""
    try:
        with entry.open("rb") as file:
            head = file.read(_HEAD.size)
            magic, count = _HEAD.unpack(head)
            if magic != _MAGIC or count * _RANGE.size > entry.stat().st_size:
                return []
            head += file.read(count * _RANGE.size)
            (expected,) = _HASH.unpack(file.read(_HASH.size))
    except (OSError, struct.error):
        return []
    if xxhash.xxh3_64_intdigest(head) != expected:
        return []
    offset, places = len(head) + _HASH.size, []
    for begin, length, xxh3 in _RANGE.iter_unpack(head[_HEAD.size :]):
        places.append((begin, offset, length, xxh3))
        offset += length
    return places
