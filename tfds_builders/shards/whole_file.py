"""A file that is there whole or not at all, and what was said of it when it was finished."""

import contextlib
import json
import os
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import xxhash

from rlds_kit.storage.append_file import sync_directory
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec

TEMPORARY: Final = ".tmp"
INFO: Final = ".info.json"
_READ_BYTES: Final = 8 << 20


@contextlib.contextmanager
def written_whole(path: Path) -> Iterator[Path]:
    """Gives a temporary path to write to; makes it durable and gives it its name, or leaves nothing.

    A worker that is killed leaves a hidden temporary file, which `remove_temporary` clears away. Any number of workers
    may write the same file at once: each has its own temporary one, and they all write the same bytes.
    """
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}{TEMPORARY}")
    try:
        yield temporary
        _sync(temporary)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(path.parent)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def remove_temporary(directory: Path) -> None:
    """Clears away what killed workers left. None may be at work."""
    for path in directory.glob(f".*{TEMPORARY}"):
        path.unlink(missing_ok=True)


def file_digest(path: Path) -> bytes:
    """XXH3-128 of a file, 16 bytes."""
    found = xxhash.xxh3_128()
    with path.open("rb", buffering=0) as file:
        while data := file.read(_READ_BYTES):
            found.update(data)
    return found.digest()


def info_path(spec: ShardSpec) -> Path:
    """Where it is said that the shard is whole."""
    return spec.path.with_name(f".{spec.file}{INFO}")


def write_info(spec: ShardSpec, info: ShardInfo) -> None:
    """Says that the shard is whole."""
    with written_whole(info_path(spec)) as temporary:
        temporary.write_text(json.dumps({"spec": spec.digest, **info.to_json()}), encoding="utf-8")


def read_info(spec: ShardSpec) -> ShardInfo | None:
    """What was said of a shard of this very spec; None when nothing was."""
    try:
        content = json.loads(info_path(spec).read_bytes())
        return ShardInfo.from_json(content) if content["spec"] == spec.digest else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # a file that somebody else wrote says nothing either
        return None


def finished(spec: ShardSpec) -> ShardInfo | None:
    """What was said of a shard, if its file still is as it was then; else None."""
    info = read_info(spec)
    if info is None or not spec.path.is_file() or spec.path.stat().st_size != info.size:
        return None
    return info if file_digest(spec.path) == info.file_digest else None
