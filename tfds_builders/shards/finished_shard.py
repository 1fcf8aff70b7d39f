"""What is said of a shard when it is finished."""

import json
from pathlib import Path
from typing import Final

import xxhash

from rlds_kit.base.whole_file import TEMPORARY, write_json
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec

INFO: Final = ".info.json"
_READ_BYTES: Final = 8 << 20


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
    write_json(info_path(spec), {"spec": spec.digest, **info.to_json()})


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
