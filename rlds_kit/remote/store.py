"""A directory of a file system of fsspec: what files it has, and any of their bytes."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Final, Protocol

from rlds_kit.base.extras import MissingExtraError
from rlds_kit.remote.address import Address, secrets_in
from rlds_kit.remote.errors import RemoteChangedError, RemoteError, TransientError

VERSION_KEYS: Final = ("ETag", "etag", "sha256", "blob_id", "generation", "md5Hash", "content_hash", "CRC")
"""What file systems tell of a file that another version of it would not have; times where they tell none of these."""
TIME_KEYS: Final = ("mtime", "LastModified", "last_modified", "modified", "updated", "created")
LAYERS: Final = "layers"
"""The only folder of a dataset."""
MANIFESTS: Final = "closed-*.json"
"""Files that their writers replace: `rlds_kit.storage.manifest`."""


@dataclass(frozen=True, slots=True)
class Info:
    """A file as it was when it was first looked at.

    Attributes:
      size: in bytes.
      version: all that tells this version of the file from another.
      mtime: when it was changed last, in seconds since 1970; 0 if the file system does not tell.
    """

    size: int
    version: str
    mtime: float = field(default=0.0, compare=False)


@dataclass(frozen=True, slots=True)
class Listed:
    """A file as a listing has it.

    Attributes:
      info: None where only asking for the file itself tells.
      sha256: of its content, if the listing says it; else empty.
    """

    info: Info | None = None
    sha256: str = ""


class Store(Protocol):
    """Files of one directory; safe to use from several threads."""

    def listing(self) -> Mapping[str, Listed]:
        """The files, by name.

        Raises:
          FileNotFoundError: there is no such directory.
          RemoteError: it cannot be listed.
          TransientError: not now.
        """
        ...

    def first(self, name: str) -> tuple[Info, bytes]:
        """What is known of a file, and its first bytes if they came with that."""
        ...

    def read(self, name: str, begin: int, end: int, info: Info) -> bytes:
        """Bytes of a file.

        Raises:
          FileNotFoundError: it is not there.
          RemoteChangedError: it is not what `info` says.
          RemoteError: it cannot be read.
          TransientError: not now.
        """
        ...

    def confirm(self, infos: Mapping[str, Info]) -> None:
        """Called after `read`: makes sure that what was read is of these versions.

        Raises:
          RemoteChangedError: it is not.
        """
        ...


@dataclass(frozen=True)
class Naming:
    """How errors name files: without what must not be shown."""

    address: Address
    secrets: list[str] = field(repr=False)

    @classmethod
    def of(cls, address: Address, options: Mapping[str, Any]) -> "Naming":
        """For a directory that is opened with these options."""
        found = {*address.secrets(), *secrets_in(options)} - {""}
        return cls(address, sorted(found, key=len, reverse=True))

    def plain(self, error: object) -> str:
        """The text of an error, without secrets."""
        text = str(error) or type(error).__name__
        for secret in self.secrets:
            text = text.replace(secret, "***")
        return text

    def changed(self, name: str, expected: Info, found: str) -> RemoteChangedError:
        """The error for a file that is not what it was."""
        return RemoteChangedError(
            f"{self.address.shown(name)} changed while it was being read: it had {expected.size} bytes and version "
            f"{expected.version or 'unknown'}, now {found}; open the dataset again to read what is there now"
        )

    def denied(self, name: str, error: object) -> RemoteError:
        """The error for a file that may not be read."""
        return RemoteError(
            f"{self.address.shown(name)}: may not be read: {self.plain(error)}; give credentials with storage_options, "
            "or in the way that the file system has"
        )


def info_of(entry: Mapping[str, Any]) -> Info:
    """What a listing of fsspec tells of a file.

    >>> info_of({"size": 5, "ETag": '"abc"', "type": "file"})
    Info(size=5, version='ETag="abc"', mtime=0.0)
    """
    size, moment = int(entry["size"]), _moment(entry)
    told = [f"{key}={entry[key]}" for key in VERSION_KEYS if entry.get(key) is not None]
    # One alone: listings and answers for single files may round times differently.
    return Info(size, told[0] if told else f"mtime={moment:.6f}" if moment else "", moment)


def _moment(entry: Mapping[str, Any]) -> float:
    """When a file was changed, in seconds since 1970; 0 if the file system does not tell."""
    moment = next((entry[key] for key in TIME_KEYS if entry.get(key) is not None), None)
    if isinstance(moment, datetime):
        return moment.timestamp()
    return float(moment) if isinstance(moment, int | float) else 0.0


class FsspecStore:
    """A directory of any file system that fsspec knows.

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
        except Exception as error:  # noqa: BLE001  every file system has errors of its own, and they may tell secrets
            raise RemoteError(
                f"{address.shown()}: {self._naming.plain(error)}; check the URL, give what fsspec knows, and "
                "credentials with storage_options"
            ) from None
        self._system: Any = system  # fsspec has no types
        self._root = str(root).rstrip("/")

    def listing(self) -> Mapping[str, Listed]:
        """The files."""
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
        """Bytes of a file."""
        with self._explained(name):
            data: bytes = self._system.cat_file(self._path(name), start=begin, end=end)
        if len(data) != end - begin:
            self.confirm({name: info})
            raise TransientError(f"expected {end - begin} bytes, got {len(data)}")
        return data

    def confirm(self, infos: Mapping[str, Info]) -> None:
        """Looks at the files once more: one that is now as it was has not been another in between."""
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
