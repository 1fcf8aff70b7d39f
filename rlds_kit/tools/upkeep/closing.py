"""Writes the manifests of a new dataset when its files are complete, and computes the current entries of files."""

from pathlib import Path

from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.layers.folder import LAYERS, PATTERN
from rlds_kit.riegeli.array_record import last_chunk
from rlds_kit.riegeli.errors import DamagedError as RiegeliDamagedError
from rlds_kit.storage import directory as directories
from rlds_kit.storage.contents import read_index
from rlds_kit.storage.manifest import MAX_ENTRIES, ClosedFile, digest_of, name_for, write
from rlds_kit.storage.shard_file import ShardFile


def note_closed(directory: Path) -> None:
    """Writes the manifests of the shards and layers in a directory that has no other writers.

    Equal files give equal manifests.

    Raises:
      OSError: one cannot be read or written.
    """
    closed = [each for path in directories.shards_in(directory) if (each := _shard(path)) is not None]
    closed += [_layer_file(directory, path) for path in sorted(directory.glob(PATTERN))]
    for number, first in enumerate(range(0, len(closed), MAX_ENTRIES)):
        write(directory / name_for(closed[0].path, number), closed[first : first + MAX_ENTRIES])


def digest_in(directory: Path, path: str) -> str | None:
    """The manifest entry for the current content of a file; None: it has no readable index.

    Raises:
      OSError: it cannot be read.
    """
    if path.startswith(f"{LAYERS}/"):
        return digest_of((directory / path).read_bytes())
    return _index_digest(ShardFile(directory / path))


def _shard(path: Path) -> ClosedFile | None:
    file = ShardFile(path)
    index, digest = read_index(file), _index_digest(file)
    if index is None or digest is None:
        return None  # its writer died before it closed it
    listed = index.episodes.listed()
    return ClosedFile(path.name, file.size(), digest, len(listed), int(listed.rows.sum()))


def _index_digest(file: ShardFile) -> str | None:
    try:
        position = last_chunk(file)
        return None if position is None else digest_of(file.record(position))
    except (RiegeliDamagedError, DamagedError, FormatError):
        return None


def _layer_file(directory: Path, path: Path) -> ClosedFile:
    data = path.read_bytes()
    return ClosedFile(path.relative_to(directory).as_posix(), len(data), digest_of(data))
