"""Manifests, `closed-*.json`: lists of the files that writers have closed, by which incomplete copies are detected.

Each writer replaces its own manifest when it has closed another file, and never changes other manifests. So a manifest
names only files that are complete and durable, and a file without an entry is not a fault: its writer was interrupted,
or is older than manifests.
"""

import json
import re
import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

import xxhash

from rlds_kit._version import __version__
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.base.whole_file import whole_file
from rlds_kit.remote.errors import RemoteChangedError, RemoteError
from rlds_kit.remote.path import RemotePath
from rlds_kit.remote.store import MANIFESTS

PATTERN: Final = MANIFESTS
FORMAT: Final = "rlds_kit manifest"
VERSION: Final = 1
MAX_ENTRIES: Final = 256
"""Maximum files in a manifest, so that replacing it stays fast; then the writer starts another one."""
ADVICE: Final = (
    "Copy the dataset again. `rlds-kit verify` lists what is lost, and `rlds-kit verify --accept-missing` notes that "
    "you can do without it."
)
_MAX_BYTES: Final = 4 << 20
_NUMBERED: Final = re.compile(r"-\d+$")


@dataclass(frozen=True, slots=True)
class ClosedFile:
    """A file that was complete and durable when its writer closed it.

    Attributes:
      path: relative to the dataset, with slashes.
      bytes: its size.
      digest: XXH3-128 in hexadecimal: of the record that is a shard's index; of the whole file of a layer.
      episodes: number of episodes that readers show; 0 for a layer.
      steps: of these episodes.
    """

    path: str
    bytes: int
    digest: str
    episodes: int = 0
    steps: int = 0


@dataclass(frozen=True, slots=True)
class Accepted:
    """An accepted loss; it counts as a loss again when the file has another size.

    Attributes:
      path: relative to the dataset: of a closed file, or of a damaged manifest.
      bytes: current size; None: it is missing.
    """

    path: str
    bytes: int | None


@dataclass(slots=True)
class Manifests:
    """The content of all manifests of a dataset.

    Attributes:
      closed: files by path.
      accepted: losses by path.
      damaged: the error of each manifest that cannot be read, by its name.
    """

    closed: dict[str, ClosedFile] = field(default_factory=dict)
    accepted: dict[str, Accepted] = field(default_factory=dict)
    damaged: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Lost:
    """A file that is missing or differs from what its writer closed.

    Attributes:
      path: relative to the dataset.
      found: its size; None: it is missing.
      closed: its entry; None: it is a manifest that cannot be read.
      message: a description of the loss.
    """

    path: str
    found: int | None
    closed: ClosedFile | None
    message: str

    def __str__(self) -> str:
        return f"{self.path} {self.message}"


def digest_of(data: bytes) -> str:
    """The digest of bytes in manifests.

    >>> digest_of(b"")
    '99aa06d3014798d86001c324468d497f'
    """
    return xxhash.xxh3_128_hexdigest(data)


class ManifestWriter:
    """Writes the manifest of one writer.

    Args:
      directory: of the dataset.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path: Path | None = None
        self._closed: list[ClosedFile] = []

    def add(self, closed: ClosedFile) -> None:
        """Adds a durable file.

        Warns:
          RuntimeWarning: the manifest cannot be written. The file itself is valid without an entry.
        """
        if self._path is None or len(self._closed) >= MAX_ENTRIES:
            self._path, self._closed = self._directory / name_for(closed.path), []
        self._closed.append(closed)
        try:
            write(self._path, self._closed)
        except OSError as error:
            warnings.warn(
                f"{self._path}: cannot be written: {error}. {closed.path} is complete and durable, but should it get "
                "lost, there would be no warning",
                RuntimeWarning,
                stacklevel=2,
            )


def name_for(path: str, number: int | None = None) -> str:
    """The name of a manifest, derived from its first file and therefore unique.

    It sorts before the names of shards, so that a copy in the order of names has it first.

    >>> name_for("episodes-20250615T150100123456Z-3f2a90c41b7e-00001.riegeli")
    'closed-20250615T150100123456Z-3f2a90c41b7e-00001.json'
    >>> name_for("layers/review/annotations-20250616T091200654321Z-90c41b7e3f2a.riegeli")
    'closed-20250616T091200654321Z-90c41b7e3f2a-00000.json'
    """
    stem = PurePosixPath(path).stem.partition("-")[2] or "files"
    numbered = stem if number is None and _NUMBERED.search(stem) else f"{_NUMBERED.sub('', stem)}-{number or 0:05d}"
    return f"closed-{numbered}.json"


def write(path: Path, closed: Iterable[ClosedFile], accepted: Iterable[Accepted] = ()) -> None:
    """Replaces a manifest atomically.

    Raises:
      OSError: it cannot be written.
    """
    content = {
        "format": FORMAT,
        "version": VERSION,
        "writer": f"rlds_kit {__version__}",
        "closed": [asdict(each) for each in closed],
    }
    if losses := [asdict(each) for each in accepted]:
        content["accepted"] = losses
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(content, indent=1), "utf-8", newline="\n")


def manifests_in(directory: Path) -> list[Path]:
    """The manifests of a dataset, in the order of their names."""
    return sorted(path for path in directory.glob(PATTERN) if path.is_file() or path.is_symlink())


def read_manifests(directory: Path) -> Manifests:
    """Reads the manifests of a dataset; call it before listing shards, so that the files in them exist by then.

    Raises:
      RemoteError: a URL cannot be read.
    """
    found, paths = Manifests(), manifests_in(directory)
    if isinstance(directory, RemotePath):
        directory.fetch_whole(paths)
    for path in paths:
        try:
            closed, accepted = _read(path)
        except RemoteChangedError:
            continue  # its writer has replaced it since the files were listed, so the list may lack files that it names
        except RemoteError:
            raise
        except (OSError, FormatError) as error:
            found.damaged[path.name] = str(error)
            continue
        found.closed |= {each.path: each for each in closed}
        found.accepted |= {each.path: each for each in accepted}
    return found


def _read(path: Path) -> tuple[list[ClosedFile], list[Accepted]]:
    """Reads a manifest; empty if it is newer than the list of files in which it was found.

    Raises:
      FormatError: it is damaged, not a manifest, or of a newer version.
      OSError: it cannot be read.
    """
    size = path.stat().st_size
    if size > _MAX_BYTES:
        raise FormatError(f"expected a manifest of at most {_MAX_BYTES} bytes, got {size}")
    raw = path.read_bytes()
    try:
        content = json.loads(raw.decode("utf-8"))
    except (ValueError, RecursionError):
        raise FormatError(f"expected a manifest in JSON, got {len(raw)} bytes that are none") from None
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise FormatError(f"expected a JSON object of format {FORMAT!r}")
    if content.get("version") != VERSION:
        raise FormatError(f"expected version {VERSION}, got {content.get('version')!r}: upgrade rlds_kit")
    closed = [_closed(each) for each in _listed(content, "closed")]
    accepted = [_accepted(each) for each in _listed(content, "accepted")]
    if isinstance(path, RemotePath) and path.is_newer_than_listing(raw):
        return [], []
    return closed, accepted


def _listed(content: Mapping[str, Any], key: str) -> list[Any]:  # of JSON
    entries = content.get(key, [])
    if not isinstance(entries, list):
        raise FormatError(f"expected a list of files under {key!r}")
    return entries


def _closed(entry: Any) -> ClosedFile:  # JSON
    match entry:
        case {"path": str(path), "bytes": int(size), "digest": str(digest)} if _is_inside(path) and size >= 0:
            counts = [entry.get(name, 0) for name in ("episodes", "steps")]
            if all(isinstance(count, int) and count >= 0 for count in counts):
                return ClosedFile(path, size, digest, *counts)
    raise FormatError(f"expected path, bytes and digest of a file of the dataset, got {str(entry)[:120]}")


def _accepted(entry: Any) -> Accepted:  # JSON
    match entry:
        case {"path": str(path), "bytes": int() | None as size} if _is_inside(path):
            return Accepted(path, size)
    raise FormatError(f"expected path and bytes of an accepted loss, got {str(entry)[:120]}")


def _is_inside(path: str) -> bool:
    """Whether a path is inside the dataset: a manifest may come from an untrusted source."""
    parts = path.split("/")
    return path.isprintable() and "\\" not in path and all(part and not part.startswith(".") for part in parts)


def losses(directory: Path, manifests: Manifests, *, request: bool = True) -> list[Lost]:
    """The files that are missing, or have another size than when they were closed, and are not accepted.

    Args:
      directory: of the dataset.
      manifests: of the dataset.
      request: whether to request unknown sizes from a server.
    """
    found = [_lost(directory, closed, request=request) for closed in manifests.closed.values()]
    found += [
        Lost(name, _size(directory / name), None, f"is a damaged manifest: {message}")
        for name, message in manifests.damaged.items()
    ]
    return [each for each in found if each is not None and not is_accepted(manifests, each)]


def is_accepted(manifests: Manifests, lost: Lost) -> bool:
    """Whether a loss was accepted in its current state."""
    accepted = manifests.accepted.get(lost.path)
    return accepted is not None and accepted.bytes == lost.found


def _lost(directory: Path, closed: ClosedFile, *, request: bool) -> Lost | None:
    path = directory / closed.path
    is_unknown = not request and isinstance(path, RemotePath) and path.is_file() and path.known_size() is None
    size = closed.bytes if is_unknown else _size(path)
    if size == closed.bytes:
        return None
    content = f" with {closed.episodes} episodes and {closed.steps} steps" if closed.episodes else ""
    what = "is missing" if size is None else f"has {size} bytes"
    return Lost(closed.path, size, closed, f"{what}; {closed.bytes} bytes{content} were closed")


def _size(path: Path) -> int | None:
    """The size of a file; None if it does not exist or cannot be accessed."""
    try:
        return path.stat().st_size if path.is_file() else None
    except RemoteError:
        raise
    except OSError:  # an impossible name, or a directory without permission
        return None


def require_all(directory: Path) -> None:
    """Raises an error for an incomplete dataset, because a dataset that is made from it would not show the loss.

    Raises:
      DamagedError: a closed file is missing or has changed.
    """
    if lost := losses(directory, read_manifests(directory)):
        raise DamagedError(f"{directory}: lost {summary(lost)}. {ADVICE}")


def summary(lost: Sequence[Lost]) -> str:
    """Describes losses in one line."""
    episodes = sum(each.closed.episodes for each in lost if each.closed is not None)
    content = f", with {episodes} episodes" if episodes else ""
    more = f"; and {len(lost) - 3} more" if len(lost) > 3 else ""
    listed = "; ".join(str(each) for each in lost[:3])
    return f"{len(lost)} {'file' if len(lost) == 1 else 'files'}{content}: {listed}{more}"
