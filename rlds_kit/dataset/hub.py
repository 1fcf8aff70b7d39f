"""Datasets on the Hugging Face Hub: `hf://org/name@revision`."""

import contextlib
import hashlib
import os
import re
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Final

from rlds_kit.base.cache import cache_directory
from rlds_kit.base.errors import DamagedError, NotADatasetError
from rlds_kit.base.extras import needs
from rlds_kit.layers.folder import PATTERN as LAYER_FILES
from rlds_kit.remote.checksums import CHECKSUMS, listed_checksums
from rlds_kit.storage.directory import DESCRIPTION, SHARD_PATTERN
from rlds_kit.storage.manifest import PATTERN as MANIFESTS

TAG: Final = "rlds-kit"
"""The tag in the card of a published dataset."""
DATA: Final = (SHARD_PATTERN, DESCRIPTION, LAYER_FILES)
PATTERNS: Final = (*DATA, MANIFESTS, CHECKSUMS)
"""The patterns of files to download: not cards and pictures."""
_LOCATION: Final = re.compile(r"hf://(datasets/)?(?P<name>[\w.-]+/[\w.-]+)(@(?P<revision>[^@]+))?")


def download(location: str) -> Path:
    """Downloads a dataset into the cache of `huggingface_hub`, unless it is cached; returns its directory.

    Checksums, if the dataset has them, are verified once for each revision.

    Args:
      location: "hf://org/name" or "hf://org/name@revision": a branch, a tag, or the hash of a commit.

    Raises:
      ValueError: the location is invalid.
      NotADatasetError: there is no such dataset or revision, or no permission or connection to read it.
      DamagedError: a file does not match its checksum, or is missing.
      MissingExtraError: `huggingface_hub` is not installed.
    """
    matched = _LOCATION.fullmatch(location)
    if matched is None:
        raise ValueError(f"expected a location such as hf://org/name or hf://org/name@revision, got {location!r}")
    with needs("publish"):
        from huggingface_hub import errors, snapshot_download
    try:
        path = snapshot_download(
            matched["name"],
            repo_type="dataset",
            revision=matched["revision"],
            allow_patterns=list(PATTERNS),
            endpoint=os.environ.get("HF_ENDPOINT"),
            library_name="rlds-kit",
        )
    except (errors.HfHubHTTPError, errors.LocalEntryNotFoundError, errors.HFValidationError) as error:
        raise NotADatasetError(
            f"{location}: cannot be downloaded: {error}\nCheck name and revision; for a private dataset log in with "
            "`hf auth login`"
        ) from error
    _check_once(Path(path))
    return Path(path)


def published(owner: str) -> list[str]:
    """The datasets of an organisation or person on the Hub that `rlds-kit publish` wrote, as locations, sorted.

    Raises:
      NotADatasetError: the Hub cannot be reached, or rejects the request.
      MissingExtraError: `huggingface_hub` is not installed.
    """
    with needs("publish"):
        from huggingface_hub import HfApi, errors
    api = HfApi(endpoint=os.environ.get("HF_ENDPOINT"), library_name="rlds-kit")
    try:
        return sorted(f"hf://{found.id}" for found in api.list_datasets(author=owner, filter=TAG))
    except (errors.HfHubHTTPError, OSError) as error:
        raise NotADatasetError(f"hf://{owner}: its datasets cannot be listed: {error}") from error


def _check_once(directory: Path) -> None:
    """Verifies the files of a snapshot, unless that was done before."""
    checksums = directory / CHECKSUMS
    if not checksums.is_file():
        return
    files = [path for pattern in PATTERNS for path in sorted(directory.glob(pattern))]
    states = [f"{_name(directory, path)} {path.stat().st_size} {path.stat().st_mtime_ns}" for path in files]
    digest = hashlib.sha256("\n".join([str(directory), *states]).encode()).hexdigest()
    checked = cache_directory() / "hub" / f"{digest[:32]}.checked"
    if not checked.is_file():
        check(directory, checksums)
        with contextlib.suppress(OSError):  # harmless: without this marker the check is repeated next time
            checked.parent.mkdir(parents=True, exist_ok=True)
            checked.touch()


def check(directory: Path, checksums: Path) -> None:
    """Compares the shards, the layers and the description of a dataset with their checksums.

    Raises:
      FormatError: `checksums` is not what `sha256sum` writes.
      DamagedError: a file does not match, or there is one without a checksum, or one is missing.
    """
    expected = listed_checksums(checksums.read_text("utf-8"), checksums)
    there = {_name(directory, path): path for pattern in (*DATA, MANIFESTS) for path in directory.glob(pattern)}
    # A list of other origin may leave manifests out, so they are accepted without a checksum.
    there = {name: path for name, path in there.items() if name in expected or not fnmatchcase(name, MANIFESTS)}
    listed = {name for name in expected if any(fnmatchcase(name, pattern) for pattern in (*DATA, MANIFESTS))}
    for name in sorted(there.keys() | listed):
        if name not in expected or name not in there:
            where = "is in the dataset, but not in" if name in there else "is missing, but is in"
            raise DamagedError(f"{directory}: {name} {where} {CHECKSUMS}; ask those who published it")
        if _sha256(there[name]) != expected[name]:
            raise DamagedError(
                f"{there[name]}: does not match its SHA-256 in {CHECKSUMS}; delete the file, open the dataset again, "
                "and if that does not help, ask those who published it"
            )


def _name(directory: Path, path: Path) -> str:
    return path.relative_to(directory).as_posix()


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
