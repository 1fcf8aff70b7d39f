"""A directory of a file system of fsspec: its files, and ranges of their bytes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from rlds_kit.base.extras import MissingExtraError
from rlds_kit.remote.address import Address, secrets_in
from rlds_kit.remote.errors import RemoteChangedError, RemoteError, TransientError

VERSION_KEYS: Final = ("ETag", "etag", "sha256", "blob_id", "generation", "md5Hash", "content_hash", "CRC")
"""Attributes that file systems use to distinguish versions of a file; modification times if there are none of these."""
TIME_KEYS: Final = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")
LAYERS: Final = "layers"
"""The only subdirectory of a dataset."""
MANIFESTS: Final = "closed-*.json"
"""Files that their writers may replace: `rlds_kit.storage.manifest`."""


@dataclass(frozen=True, slots=True)
class Info:
    """A file as it was at the first access.

    Attributes:
      size: in bytes.
      version: everything that distinguishes this version of the file from others.
      mtime: time of the last change, in seconds since 1970; 0 if unknown.
    """

    size: int
    version: str
    mtime: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Listed:
    """An entry of a listing.

    Attributes:
      info: None if it requires a request for the file itself.
      sha256: of its content, if the listing has it; else empty.
    """

    info: Info | None = None
    sha256: str = ""


class Store(Protocol):
    """Interface of a directory of files; thread-safe."""

    def listing(self) -> Mapping[str, Listed]:
        """Lists the files, by name.

        Raises:
          FileNotFoundError: there is no such directory.
          RemoteError: it cannot be listed.
          TransientError: a retry may succeed.
        """
        ...

    def first(self, name: str) -> tuple[Info, bytes]:
        """Size and version of a file, and its first bytes if they came in the same response."""
        ...

    def read(self, name: str, begin: int, end: int, info: Info) -> bytes:
        """Reads bytes of a file.

        Raises:
          FileNotFoundError: it is not there.
          RemoteChangedError: it does not match `info`.
          RemoteError: it cannot be read.
          TransientError: a retry may succeed.
        """
        ...

    def confirm(self, infos: Mapping[str, Info]) -> None:
        """Verifies, after `read`, that the bytes were of these versions.

        Raises:
          RemoteChangedError: they were not.
        """
        ...


@dataclass(frozen=True)
class Naming:
    """Formats names of files in errors, without secrets."""

    address: Address
    secrets: list[str] = field(repr=False)

    @classmethod
    def of(cls, address: Address, options: Mapping[str, Any]) -> "Naming":
        """Creates it for a directory that is opened with these options."""
        found = {*address.secrets(), *secrets_in(options)} - {""}
        return cls(address, sorted(found, key=len, reverse=True))

    def plain(self, error: object) -> str:
        """The text of an error, without secrets."""
        text = str(error) or type(error).__name__
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def changed(self, name: str, expected: Info, found: str) -> RemoteChangedError:
        """The error for a file that has changed."""
        return RemoteChangedError(
            f"{self.address.shown(name)} changed while it was being read: it had {expected.size} bytes and version "
            f"{expected.version or 'unknown'}, now {found}; open the dataset again to read what is there now"
        )

    def denied(self, name: str, error: object) -> RemoteError:
        """The error for a file without permission to read it."""
        return RemoteError(
            f"{self.address.shown(name)}: may not be read: {self.plain(error)}; give credentials with storage_options, "
            "or in the way that the file system has"
        )


def info_of(entry: Mapping[str, Any]) -> Info:
    """Converts an entry of a listing of fsspec.

    >>> info_of({"size": 5, "ETag": '"abc"', "type": "file"})
    Info(size=5, version='ETag="abc"', mtime=0.0)
    """
    size, moment = int(entry["size"]), _moment(entry)
    found = [f"{key}={entry[key]}" for key in VERSION_KEYS if entry.get(key) is not None]
    # Only one of them: listings and responses for single files may round times differently.
    return Info(size, found[0] if found else f"mtime={moment:.6f}" if moment else "", moment)


def _moment(entry: Mapping[str, Any]) -> float:
    """The modification time of a file, in seconds since 1970; 0 if unknown."""
    moment = next((entry[key] for key in TIME_KEYS if entry.get(key) is not None), None)
    if isinstance(moment, datetime):
        return moment.timestamp()
    return float(moment) if isinstance(moment, int | float) else 0.0


class FsspecStore:
    """A directory of any file system that fsspec supports.

    Args:
      address: of the directory.
      options: of the file system.

    Raises:
      MissingExtraError: a library for it is not installed.
      RemoteError: there is no such file system.
    """

    def __init__(self, address: Address, options: Mapping[str, Any]) -> None:
        import fsspec

        self._naming = Naming.of(address, options)
        url = address.of("")
        try:
            system, root = fsspec.core.url_to_fs(url, **options)
        except ImportError as error:
            raise MissingExtraError(f"{address.shown()}: {error}") from error
        except Exception as error:  # noqa: BLE001  file systems have their own errors, which may contain secrets
            raise RemoteError(
                f"{address.shown()}: {self._naming.plain(error)}; check the URL, give what fsspec knows, and "
                "credentials with storage_options"
            ) from None
        self._system: Any = system  # fsspec has no types
        self._root = str(root).rstrip("/")

    def listing(self) -> Mapping[str, Listed]:
        """Lists the files."""
        with self._explained(""):
            self._system.invalidate_cache()
            found = list(self._system.ls(self._root, detail=True))
            for folder in [entry for entry in found if _name(entry) == LAYERS and entry["type"] == "directory"]:
                found += self._system.find(folder["name"], detail=True).values()
        above = len(self._root.strip("/")) + bool(self._root.strip("/"))
        files = (entry for entry in found if entry["type"] == "file")
        return {str(entry["name"]).strip("/")[above:]: Listed(info_of(entry)) for entry in files}

    def first(self, name: str) -> tuple[Info, bytes]:
        """What is known of a file."""
        with self._explained(name):
            self._system.invalidate_cache(self._path(name))
            return info_of(self._system.info(self._path(name))), b""

    def read(self, name: str, begin: int, end: int, info: Info) -> bytes:
        """Reads bytes of a file."""
        with self._explained(name):
            data: bytes = self._system.cat_file(self._path(name), start=begin, end=end)
        if len(data) != end - begin:
            self.confirm({name: info})
            raise TransientError(f"expected {end - begin} bytes, got {len(data)}")
        return data

    def confirm(self, infos: Mapping[str, Info]) -> None:
        """Requests the infos again: a file with the same version now has not changed in between."""
        for name, info in infos.items():
            found, _ = self.first(name)
            if found != info:
                raise self._naming.changed(name, info, f"{found.size} and {found.version or 'unknown'}")

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}" if self._root or name.startswith("/") else name

    @contextmanager
    def _explained(self, name: str) -> Iterator[None]:
        try:
            yield
        except (FileNotFoundError, RemoteError, TransientError):
            raise
        except PermissionError as error:
            raise self._naming.denied(name, error) from None
        except (NotImplementedError, TypeError, ValueError) as error:
            raise RemoteError(f"{self._naming.address.shown(name)}: {self._naming.plain(error)}") from None
        except Exception as error:  # noqa: BLE001  as above
            raise TransientError(self._naming.plain(error)) from None


def _name(entry: Mapping[str, Any]) -> str:
    return str(entry["name"]).rstrip("/").rpartition("/")[2]
