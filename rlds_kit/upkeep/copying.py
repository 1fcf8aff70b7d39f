"""A copy of a dataset that is there as a whole or not at all."""

import contextlib
import os
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path

from rlds_kit import spec as specs
from rlds_kit.errors import DatasetExistsError, FormatError
from rlds_kit.spec.compatibility import compatible
from rlds_kit.spec.message import from_message
from rlds_kit.storage import directory as directories
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage.append_file import sync_directory

_ABOUT = ("name", "description", "citation", "licence")


@contextlib.contextmanager
def new_directory(destination: str | os.PathLike[str]) -> Iterator[Path]:
    """Makes a directory to fill; if that fails nothing of it is left.

    Raises:
      DatasetExistsError: something is there already.
      OSError: it cannot be made.
    """
    path = Path(destination)
    existed = path.exists()
    if existed and (not path.is_dir() or any(path.iterdir())):
        raise DatasetExistsError(f"{path}: expected a directory that does not exist or is empty; give another path")
    path.mkdir(parents=True, exist_ok=True)
    try:
        yield path
    except BaseException:
        for inside in path.iterdir():
            shutil.rmtree(inside) if inside.is_dir() else inside.unlink()
        if not existed:
            path.rmdir()
        raise


def copy_description(source: Path, destination: Path, headers: list[pb.ShardHeader]) -> str | None:
    """Copies dataset.json, or makes a new one from the first of `headers` and says why."""
    reason = _unusable(source, headers)
    if reason is None:
        shutil.copyfile(source / directories.DESCRIPTION, destination / directories.DESCRIPTION)
        sync_directory(destination)
        return None
    header = headers[0] if headers else pb.ShardHeader()
    if not header.HasField("metadata"):
        header = pb.ShardHeader(metadata=_NO_ENTRIES, environment=_NO_ENTRIES)
    declared = _declared(header)
    directories.prepare(destination, "append", declared, _about(source), header)
    return reason


_NO_ENTRIES = pb.Value(dict=pb.Entries())


def _unusable(source: Path, headers: list[pb.ShardHeader]) -> str | None:
    if not (source / directories.DESCRIPTION).exists():
        return f"there was no {directories.DESCRIPTION}"
    try:
        content = directories.description(source)
        spec = specs.from_json(content["spec"]) if "spec" in content else None
    except FormatError as error:
        return str(error)
    if content.get("format", "rlds_kit") != "rlds_kit" or content.get("version", 1) != 1:
        return f"{directories.DESCRIPTION} was of another format"
    if spec is not None and any(compatible(spec, _declared(header)) for header in headers):
        return f"the spec in {directories.DESCRIPTION} contradicted the shards"
    return None


def _about(source: Path) -> Mapping[str, str]:
    try:
        content = directories.description(source)
    except FormatError:
        return {}
    return {key: content[key] for key in _ABOUT if isinstance(content.get(key), str)}


def _declared(header: pb.ShardHeader) -> specs.Dict:
    spec = from_message(header.spec) if header.spec.WhichOneof("kind") else specs.Dict({})
    return spec if isinstance(spec, specs.Dict) else specs.Dict({})
