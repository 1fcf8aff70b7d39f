"""A `Path` of a remote file: code that reads a dataset through a `Path` also works with a URL."""

import contextlib
import hashlib
import io
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path, PurePosixPath
from typing import IO, Any, NoReturn, Self

from rlds_kit.remote.address import is_url, local_path, parse
from rlds_kit.remote.directory import RemoteDirectory
from rlds_kit.remote.errors import NotLocalError, RemoteChangedError
from rlds_kit.remote.file import RemoteFile


class RemotePath(Path):
    """The directory of a dataset at a URL, or a file in it. Read-only.

    It is a `Path`, so that readers of local datasets work for remote ones, too. All methods that would pass its text to
    the operating system, including all that write, raise NotLocalError.

    Args:
      directory: the dataset's.
      name: of the file, relative to it; empty for the directory.
    """

    _directory: RemoteDirectory
    _relative: PurePosixPath

    def __new__(cls, directory: RemoteDirectory, name: str = "") -> Self:
        """Creates it without the state of a local path: inherited methods must fail, not read a local file."""
        self = object.__new__(cls)
        self._directory, self._relative = directory, PurePosixPath(name)
        return self

    def __init__(self, directory: RemoteDirectory, name: str = "") -> None:
        pass

    def __reduce__(self) -> tuple[type["RemotePath"], tuple[RemoteDirectory, str]]:
        return RemotePath, (self._directory, self._name)

    def __getattr__(self, attribute: str) -> NoReturn:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise self._not_local(attribute.lstrip("_"))

    def _not_local(self, what: str) -> NotLocalError:
        return NotLocalError(
            f"{self}: expected a path on this machine ({what}), got a URL, which can only be read; copy the dataset to "
            "a directory first"
        )

    @property
    def directory(self) -> RemoteDirectory:
        """The directory of the dataset."""
        return self._directory

    @property
    def _name(self) -> str:
        return "" if self._relative == PurePosixPath() else str(self._relative)

    def __fspath__(self) -> str:
        raise self._not_local("it was passed to the operating system")

    def __str__(self) -> str:
        return self._directory.address.shown(self._name)

    def __repr__(self) -> str:
        return f"RemotePath({str(self)!r})"

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, RemotePath) else NotImplemented

    def __lt__(self, other: object) -> bool:
        return self._key() < other._key() if isinstance(other, RemotePath) else NotImplemented

    def _key(self) -> tuple[str, str, str]:
        return self._directory.address.url, self._directory.address.query, self._name

    def __truediv__(self, name: str | os.PathLike[str]) -> "RemotePath":
        return RemotePath(self._directory, str(self._relative / name))

    @property
    def name(self) -> str:
        """The name of the file; of a directory, the last part of its URL."""
        return self._relative.name or str(self).partition("::")[0].rstrip("/").rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, ...]:
        """The parts of the URL."""
        return tuple(part for part in str(self).split("/") if part)

    @property
    def suffix(self) -> str:
        """The suffix of the name, such as ".json"."""
        return PurePosixPath(self.name).suffix

    @property
    def stem(self) -> str:
        """The name without its suffix."""
        return PurePosixPath(self.name).stem

    @property
    def parent(self) -> "RemotePath":
        """The directory that a file is in; the dataset's own is its own."""
        return RemotePath(self._directory, str(self._relative.parent))

    def relative_to(self, other: "RemotePath") -> PurePosixPath:  # type: ignore[override]  # the result is not a URL
        """The path of a file, seen from the directory that it is in.

        Raises:
          ValueError: it is not in there.
        """
        if self._directory is not other._directory:  # noqa: SLF001  its own class
            raise ValueError(f"expected a file in {other}, got {self}")
        return self._relative.relative_to(other._relative)  # noqa: SLF001  its own class

    def absolute(self) -> "RemotePath":
        """Returns this path, which is always absolute."""
        return self

    def resolve(self, strict: bool = False) -> "RemotePath":  # noqa: ARG002
        """Returns this path, because remote files have no links."""
        return self

    def is_file(self, **_: Any) -> bool:
        """Whether the directory has such a file."""
        return self._name in self._listed()

    def is_dir(self, **_: Any) -> bool:
        """Whether something is in it."""
        return any(True for _ in self._below())

    def is_symlink(self) -> bool:
        """Returns False: remote files have no links."""
        return False

    def exists(self, **_: Any) -> bool:
        """Whether it is a file or a directory."""
        return self.is_file() or self.is_dir()

    def _listed(self) -> tuple[str, ...]:
        try:
            return self._directory.names()
        except FileNotFoundError:
            return ()

    def _below(self) -> Iterator[str]:
        """The files in this directory and its subdirectories, relative to it."""
        start = f"{self._name}/" if self._name else ""
        return (name.removeprefix(start) for name in self._listed() if name.startswith(start))

    def stat(self, **_: Any) -> os.stat_result:
        """Size and time of a file."""
        if not self.is_file():
            return os.stat_result((stat.S_IFDIR | 0o555, 0, 0, 1, 0, 0, 0, 0, 0, 0))
        info = self._directory.info(self._name)
        moment = int(info.mtime)
        return os.stat_result((stat.S_IFREG | 0o444, 0, 0, 1, 0, 0, info.size, moment, moment, moment))

    def glob(self, pattern: str, **_: Any) -> Iterator["RemotePath"]:  # type: ignore[override]  # returns its own type
        """The files in the directory whose names, or paths from here, match."""
        return (self / name for name in self._below() if _matches(name, pattern))

    def rglob(self, pattern: str, **_: Any) -> Iterator["RemotePath"]:  # type: ignore[override]  # returns its own type
        """The files in the directory and those in it whose names match."""
        return (self / name for name in self._below() if fnmatchcase(PurePosixPath(name).name, pattern))

    def iterdir(self) -> Iterator["RemotePath"]:  # type: ignore[override]  # returns its own type
        """The files of the directory."""
        return self.glob("*")

    def open(  # type: ignore[override]
        self,
        mode: str = "r",
        buffering: int = -1,
        encoding: str | None = None,
        errors: str | None = None,
        newline: str | None = None,
    ) -> IO[Any]:
        """Opens a file to read it.

        Raises:
          NotLocalError: it is to be written.
          FileNotFoundError: it is not there.
        """
        if set(mode) - set("rbt"):
            raise self._not_local(f"mode {mode!r}")
        raw: Any = self.file()
        if buffering == 0:
            return raw  # type: ignore[no-any-return]  # an io.RawIOBase, as of local files
        buffered = io.BufferedReader(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, encoding, errors, newline)

    def file(self) -> RemoteFile:
        """Opens the file, to be read by position.

        Raises:
          FileNotFoundError: it is not there.
        """
        return RemoteFile(self._directory, self._name)

    def read_bytes(self) -> bytes:
        """The content of a file."""
        if not self.is_file():
            raise FileNotFoundError(f"{self} is not there")
        return self._directory.read(self._name, 0, self._directory.info(self._name).size)

    def read_text(self, encoding: str | None = None, errors: str | None = None, **_: Any) -> str:
        """The content of a file as text."""
        return self.read_bytes().decode(encoding or "utf-8", errors or "strict")

    def versions(self) -> list[tuple[str, int, str]]:
        """Name, size and version of each file in the directory and those in it."""
        infos = [(name, self._directory.info(str(self._relative / name))) for name in self._below()]
        return [(name, info.size, info.version) for name, info in infos]

    def relist(self) -> None:
        """Lists the files again."""
        self._directory.relist()

    def known_size(self) -> int | None:
        """The size of a file, if it is known without a request."""
        info, _ = self._directory.known(self._name)
        return None if info is None else info.size

    def is_newer_than_listing(self, content: bytes) -> bool:
        """Whether a file differs from its entry in the list of files; not every list contains enough to decide."""
        _, sha256 = self._directory.known(self._name)
        return bool(sha256) and hashlib.sha256(content).hexdigest() != sha256

    def fetch_whole(self, files: Iterable[Path]) -> None:
        """Prefetches small files, concurrently; a missing or changed file raises an error only when it is read."""
        with contextlib.suppress(FileNotFoundError, RemoteChangedError):
            self._directory.fetch_whole(file.name for file in files)

    def fetch_indexes(self, files: Iterable[Path]) -> None:
        """Prefetches the bytes for opening shards, all concurrently."""
        self._directory.fetch_indexes(file.name for file in files)


def _matches(name: str, pattern: str) -> bool:
    """Whether each part of a path matches its part of a pattern."""
    parts, patterns = name.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def as_path(
    location: str | os.PathLike[str],
    *,
    storage_options: Mapping[str, Any] | None = None,
    cache_bytes: int | None = None,
) -> Path:
    """Converts a location, a local path or a URL, to a `Path`.

    Args:
      location: a path, or a URL that fsspec supports.
      storage_options: of the URL's file system: credentials, for instance.
      cache_bytes: size limit of the disk cache; 0 disables it; None: RLDS_KIT_CACHE_BYTES, or 4 GiB.

    Raises:
      ValueError: options were given for a local path.

    >>> as_path("https://user:secret@host/data/pong") / "dataset.json"
    RemotePath('https://host/data/pong/dataset.json')
    """
    if isinstance(location, RemotePath) and storage_options is None and cache_bytes is None:
        return location
    text = str(location) if isinstance(location, RemotePath) else os.fspath(location)
    local = local_path(text)
    if local is None and is_url(text):
        return RemotePath(RemoteDirectory(parse(text), storage_options, cache_bytes))
    if storage_options is not None or cache_bytes is not None:
        raise ValueError(f"storage_options and cache_bytes belong to URLs, which {text!r} is not")
    return Path(text if local is None else local)
