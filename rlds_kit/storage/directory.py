"""A dataset as a directory: names of shards, `dataset.json`, and what may be done with a directory that is there."""

import json
import os
import time
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.errors import DatasetExistsError, FormatError, SpecError
from rlds_kit.remote.address import require_local
from rlds_kit.spec import from_json, to_json
from rlds_kit.spec.compatibility import compatible
from rlds_kit.storage import rlds_kit_pb2 as pb
from rlds_kit.storage import value
from rlds_kit.storage.append_file import sync_directory

DESCRIPTION: Final = "dataset.json"
SHARD_PATTERN: Final = "episodes-*.riegeli"
MODES: Final = ("append", "new", "error")
ABOUT: Final = ("name", "description", "citation", "licence")
"""What a dataset says of itself, besides its spec."""


def shards_in(directory: Path) -> list[Path]:
    """The shards of a dataset, in the order of their names."""
    # A dangling link is not passed over: opening it says so. A pipe would be waited for, for ever.
    return sorted(path for path in directory.glob(SHARD_PATTERN) if path.is_file() or path.is_symlink())


def is_dataset(directory: Path) -> bool:
    """Whether there is a dataset."""
    return (directory / DESCRIPTION).is_file() or bool(shards_in(directory))


def shard_paths(directory: Path) -> Iterator[Path]:
    """Names for the shards of one writer, in order; no other writer has the same."""
    seconds, nanoseconds = divmod(time.time_ns(), 10**9)
    began = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}{nanoseconds // 1000:06d}Z"
    prefix = f"episodes-{began}-{uuid.uuid4().hex[:12]}"
    number = 0
    while True:
        yield directory / f"{prefix}-{number:05d}.riegeli"
        number += 1


def prepare(directory: Path, mode: str, declared: specs.Dict, about: Mapping[str, str], header: pb.ShardHeader) -> Path:
    """Makes the directory ready for a writer; returns where to write.

    Raises:
      ValueError: `mode` is not one of MODES.
      DatasetExistsError: mode is "error" and a dataset is there.
      NotLocalError: it is a URL.
      SpecError: the dataset that is there has another spec.
      OSError: the directory cannot be made or written.
    """
    if mode not in MODES:
        raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
    require_local(directory)
    directory = directory.absolute()  # a program may change its working directory while it records
    if mode == "new":
        directory = _free_name(directory)
    if mode == "error" and is_dataset(directory):
        raise DatasetExistsError(
            f"{directory} holds a dataset; pass mode='append' to add to it, mode='new' to record beside it, or give "
            "another path"
        )
    directory.mkdir(parents=True, exist_ok=True)
    _describe(directory, declared, about, header)
    _require_compatible(directory, declared)
    return directory


def description(directory: Path) -> dict[str, Any]:
    """What `dataset.json` says; empty when there is none.

    Raises:
      FormatError: it is no JSON object.
    """
    path = directory / DESCRIPTION
    try:
        content = json.loads(path.read_text("utf-8"))
    except FileNotFoundError:
        return {}
    except ValueError as error:
        raise FormatError(f"{path}: expected JSON: {error}; mend it or delete it, no shard needs it") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object; mend it or delete it, no shard needs it")
    return content


def _free_name(directory: Path) -> Path:
    candidate, number = directory, 1
    while is_dataset(candidate):
        number += 1
        candidate = directory.with_name(f"{directory.name}-{number}")
    return candidate


def _describe(directory: Path, declared: specs.Dict, about: Mapping[str, str], header: pb.ShardHeader) -> None:
    """Writes dataset.json unless it is there; of two writers at once one wins and none sees half a file."""
    path = directory / DESCRIPTION
    temporary = directory / f".{DESCRIPTION}.{uuid.uuid4().hex}"
    content = {
        "format": "rlds_kit",
        "version": 1,
        **{key: about.get(key, "") for key in ABOUT},
        "spec": to_json(declared),
        "environment": _readable(value.decode(header.environment)),
        "metadata": _readable(value.decode(header.metadata)),
    }
    try:
        # Also where the file exists: a directory that cannot be written is found out before an episode is played.
        with temporary.open("x", encoding="utf-8") as file:
            json.dump(content, file, indent=2, ensure_ascii=False)
            file.flush()
            os.fsync(file.fileno())
        _link_without_replacing(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    sync_directory(directory)


def _link_without_replacing(temporary: Path, path: Path) -> None:
    try:
        path.hardlink_to(temporary)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            temporary.replace(path)


def _require_compatible(directory: Path, declared: specs.Dict) -> None:
    stored = description(directory).get("spec")
    if stored is None:
        return
    try:
        existing = from_json(stored)
    except SpecError as error:
        path = directory / DESCRIPTION
        raise FormatError(f"{path}: {error}; mend it or delete it, no shard needs it") from error
    problems = compatible(existing, declared)
    if problems:
        lines = "\n".join(f"  {problem.place}: {problem.message}" for problem in problems)
        raise SpecError(
            f"{directory} holds a dataset of another spec; record into another directory, or mode='new'.\n{lines}"
        )


def _readable(content: object) -> Any:  # JSON
    """For people: what JSON cannot say is shown as Python would print it; the exact value is in the shards."""
    if isinstance(content, dict):
        return {str(key): _readable(item) for key, item in content.items()}
    if isinstance(content, list | tuple):
        return [_readable(item) for item in content]
    if isinstance(content, str):
        return content.encode("utf-8", "backslashreplace").decode()
    if isinstance(content, int) and content.bit_length() > 64:
        return hex(content)
    if content is None or isinstance(content, int):
        return content
    if isinstance(content, float) and content == content and abs(content) != float("inf"):  # noqa: PLR0124  not NaN
        return float(content)
    return repr(content)
