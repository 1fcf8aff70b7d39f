"""The directory of a dataset: names of shards, `dataset.json`, and the modes for existing directories."""

import itertools
import json
import time
import uuid
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from rlds_kit import spec as specs
from rlds_kit.base import lock
from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.append_file import sync_directory
from rlds_kit.base.errors import DatasetExistsError, FormatError, NotADatasetError, SpecError
from rlds_kit.base.whole_file import make_directory, whole_file
from rlds_kit.remote.address import require_local
from rlds_kit.spec import from_json, to_json, value
from rlds_kit.spec.compatibility import compatible
from rlds_kit.storage.regular import read_regular

DESCRIPTION: Final = "dataset.json"
SHARD_PATTERN: Final = "episodes-*.riegeli"
MODES: Final = ("append", "new", "error")
ABOUT: Final = ("name", "description", "citation", "licence")
"""The descriptive entries of `dataset.json`, besides the spec."""


_MOST_NESTING: Final = 250
"""Maximum nesting of objects in dataset.json: specs have at most 100 nested containers, with up to two objects each."""


def shards_in(directory: Path) -> list[Path]:
    """The shards of a dataset, in the order of their names."""
    # A dangling link is included: opening it raises an error. A pipe is not: opening it would block.
    return sorted(path for path in directory.glob(SHARD_PATTERN) if path.is_file() or path.is_symlink())


def is_dataset(directory: Path) -> bool:
    """Whether there is a dataset."""
    return (directory / DESCRIPTION).is_file() or bool(shards_in(directory))


def require_dataset(directory: Path) -> None:
    """Raises NotADatasetError if there is no dataset."""
    if not is_dataset(directory):
        what = "is no directory" if not directory.is_dir() else f"has no shard and no {DESCRIPTION}"
        raise NotADatasetError(
            f"{directory}: expected a dataset, but it {what}; check the path: `rlds-kit list DIRECTORY` lists datasets"
        )


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
    """Prepares the directory for a writer; returns the directory to write to.

    Raises:
      ValueError: `mode` is not one of MODES.
      DatasetExistsError: mode is "error" and a dataset exists.
      NotLocalError: it is a URL.
      SpecError: the existing dataset has another spec.
      OSError: the directory cannot be created or written.

    Warns:
      RuntimeWarning: the file system has no locks.
    """
    if mode not in MODES:
        raise ValueError(f"mode: expected one of {', '.join(MODES)}, got {mode!r}")
    require_local(directory)
    directory = directory.absolute()  # a program may change its working directory while it records
    for candidate in _candidates(directory) if mode == "new" else (directory,):
        if mode != "append" and _is_taken(candidate):
            continue
        make_directory(candidate)
        # Exactly one of several concurrent writers creates the file. A check followed by a write would let all of them
        # in.
        if _describe(candidate, declared, about, header) or mode == "append":
            _require_compatible(candidate, declared)
            return candidate
    raise DatasetExistsError(
        f"{directory} holds a dataset{_emptiness(directory)}; pass mode='append' to add to it, mode='new' to record "
        "beside it, or give another path"
    )


def description(directory: Path) -> dict[str, Any]:
    """The content of `dataset.json`; empty if there is none.

    Raises:
      FormatError: it is not a JSON object, or not a regular file.
    """
    path = directory / DESCRIPTION
    try:
        content = json.loads(read_regular(path))
        _require_plain(content)
    except FileNotFoundError:
        return {}
    except (ValueError, RecursionError) as error:
        raise FormatError(f"{path}: expected JSON: {error}; repair it or delete it, no shard needs it") from error
    if not isinstance(content, dict):
        raise FormatError(f"{path}: expected a JSON object; repair it or delete it, no shard needs it")
    return content


def _require_plain(content: Any) -> None:
    """Validates content that would cause other errors later.

    Raises:
      ValueError: something is nested too deeply, or a text is not valid Unicode.
    """
    level, depth = [content], 0
    while level:
        if depth > _MOST_NESTING:
            raise ValueError(f"more than {_MOST_NESTING} objects in one another")
        keys = [key for item in level if isinstance(item, dict) for key in item]
        for text in itertools.chain(keys, (item for item in level if isinstance(item, str))):
            text.encode()  # a lone surrogate is a UnicodeEncodeError, which is a ValueError
        level = [
            part
            for item in level
            if isinstance(item, dict | list)
            for part in (item.values() if isinstance(item, dict) else item)
        ]
        depth += 1


def _candidates(directory: Path) -> Iterator[Path]:
    """The directory, then `name-2`, `name-3`, ..."""
    yield directory
    for number in itertools.count(2):
        yield directory.with_name(f"{directory.name}-{number}")


def _is_taken(directory: Path) -> bool:
    """Whether a dataset exists. An empty dataset.json, left by a killed writer (see `whole_file`), does not count."""
    path = directory / DESCRIPTION
    return (path.is_file() and path.stat().st_size > 0) or bool(shards_in(directory))


def _describe(directory: Path, declared: specs.Dict, about: Mapping[str, str], header: pb.ShardHeader) -> bool:
    """Writes dataset.json unless it exists, and returns whether it did.

    Exactly one of several concurrent writers succeeds, and none sees a partial file.
    """
    content = {
        "format": "rlds_kit",
        "version": 1,
        **{key: about.get(key, "") for key in ABOUT},
        "spec": to_json(declared),
        "environment": _readable(value.decode(header.environment)),
        "metadata": _readable(value.decode(header.metadata)),
    }
    try:
        # Also if the file exists: a directory that is not writable must raise an error before the first episode.
        with whole_file(directory / DESCRIPTION, replace=False) as temporary:
            _write(temporary, content)
            if lock.is_locked(temporary, unknown=True):  # the name is unique, so no other process holds the lock
                _warn_of_missing_locks(directory)
    except FileExistsError:
        sync_directory(directory)  # its creator may not have synced it yet
        return False
    return True


def rewrite_description(directory: Path, content: Mapping[str, Any]) -> None:
    """Replaces `dataset.json`.

    Raises:
      OSError: it cannot be written.
    """
    with whole_file(directory / DESCRIPTION) as temporary:
        _write(temporary, content)


def _warn_of_missing_locks(directory: Path) -> None:
    warnings.warn(
        f"{directory}: this file system has no locks (flock), by which readers see that a shard is being written. "
        "Everything is recorded; until a shard is closed, its open episodes are listed as INCOMPLETE. Record on a "
        "local disk if other processes read meanwhile.",
        RuntimeWarning,
        stacklevel=5,
    )


def _write(path: Path, content: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False), "utf-8")


def _require_compatible(directory: Path, declared: specs.Dict) -> None:
    stored = description(directory).get("spec")
    if stored is None:
        return
    try:
        existing = from_json(stored)
    except (SpecError, FormatError) as error:
        path = directory / DESCRIPTION
        raise FormatError(f"{path}: {error}; repair it or delete it, no shard needs it") from error
    problems = compatible(existing, declared)
    if problems:
        lines = "\n".join(f"  {problem.place}: {problem.message}" for problem in problems)
        raise SpecError(
            f"{directory} holds a dataset of another spec{_emptiness(directory)}; record into another directory, or "
            f"mode='new'.\n{lines}"
        )


def _emptiness(directory: Path) -> str:
    """What to do about a dataset without shards, such as one of a program that failed at its first step."""
    return "" if shards_in(directory) else " but no episode: delete it if nothing records into it"


def _readable(content: object) -> Any:  # JSON
    """Converts a value for people: values that JSON cannot represent become text as Python prints them."""
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
