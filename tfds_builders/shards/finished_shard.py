"""The note on a finished shard: a JSON file beside it, which is written last."""

import json
import shutil
from pathlib import Path
from typing import Final

from rlds_kit.base.file_digest import file_digest
from rlds_kit.base.whole_file import TEMPORARY, write_json
from rlds_kit.tfds_builders.shards.spec import ShardInfo, ShardSpec

INFO: Final = ".info.json"


def remove_temporary(directory: Path) -> None:
    """Removes the temporary files of killed workers. No worker may be running."""
    for path in directory.glob(f".*{TEMPORARY}"):
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)


def info_path(spec: ShardSpec) -> Path:
    """The file of the note."""
    return spec.path.with_name(f".{spec.file}{INFO}")


def write_info(spec: ShardSpec, info: ShardInfo) -> None:
    """Writes the note on a shard, durably."""
    write_json(info_path(spec), {"spec": spec.digest, **info.to_json()})


def read_info(spec: ShardSpec) -> ShardInfo | None:
    """Reads the note on a shard; None if there is none, or only one of another spec."""
    try:
        content = json.loads(info_path(spec).read_bytes())
        return ShardInfo.from_json(content) if content["spec"] == spec.digest else None
    except (FileNotFoundError, ValueError, KeyError, TypeError):  # no note, or not one of `write_info`
        return None


def finished(spec: ShardSpec) -> ShardInfo | None:
    """The note on a shard whose file has not changed since; else None."""
    info = read_info(spec)
    if info is None or not spec.path.is_file() or spec.path.stat().st_size != info.size:
        return None
    return info if file_digest(spec.path) == info.file_digest else None
