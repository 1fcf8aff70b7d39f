"""Opens a dataset wherever it is: a directory of ours, one that TFDS has prepared, the Hugging Face Hub, any URL."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qsl

from rlds_kit.dataset import Dataset, open_dataset
from rlds_kit.remote.address import is_url
from rlds_kit.remote.path import RemotePath, as_path
from rlds_kit.storage.directory import is_dataset

TFDS: Final = "tfds:"
HUB: Final = "hf://"
HUB_DATASETS: Final = "hf://datasets/"


def open_location(
    location: str | os.PathLike[str],
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    include_open: bool = False,
    download: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    cache_bytes: int | None = None,
) -> Dataset:
    """Opens a dataset, as it is now.

    What TFDS has prepared is converted when it is opened for the first time, into the directory that `RLDS_KIT_CACHE`
    names, or ~/.cache/rlds_kit; neither TFDS nor TensorFlow is needed for that.

    Of what a URL names only those bytes are fetched that are needed, through a cache on disk, which is in the same
    directory.

    Args:
      location: a directory; "tfds:name/config:version" or "tfds:/path/to/name/1.0.0", with "?split=train" at its end if
        you like; "hf://org/name@revision"; any URL that fsspec knows, as in "https://host/pong", "s3://bucket/pong",
        "zip://pong::https://host/pong.zip".
      split: of a dataset of TFDS, as in "train", "train[:10%]", "train+test", "all"; None: the only one.
      data_dir: where TFDS keeps its datasets; None: as `TFDS_DATA_DIR` says, or ~/tensorflow_datasets.
      include_open: also list episodes that are being recorded; their `end` is None.
      download: whether to download all of a dataset of the Hub, or to read it there.
      storage_options: of the URL's file system, as fsspec takes them: credentials, for instance.
      cache_bytes: what the cache may take on disk for the data of all URLs, 0 for nothing; None: as
        `RLDS_KIT_CACHE_BYTES` says, or 4 GiB.

    Raises:
      NotADatasetError: there is no dataset.
      CacheError: what is converted cannot be kept.
      RemoteError: a URL cannot be read.
      MissingExtraError: the library that reads such URLs is not installed.
      FormatError: it is not what it should be, or of a newer major version.
      SpecError: a dataset of TFDS has features of a kind that is not known.
      DamagedError: a dataset of TFDS, or of the Hub, does not match its checksums.
      ValueError: the location is of no known kind, or there is no such split.
    """
    directory = directory_of(
        location,
        split=split,
        data_dir=data_dir,
        download=download,
        storage_options=storage_options,
        cache_bytes=cache_bytes,
    )
    return open_dataset(directory, include_open=include_open)


def directory_of(
    location: str | os.PathLike[str],
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    download: bool = True,
    storage_options: Mapping[str, Any] | None = None,
    cache_bytes: int | None = None,
) -> Path:
    """The directory of ours that a location stands for; datasets are downloaded and converted as need be.

    Args and errors are those of `open_location`; whether there is a dataset in a directory is not looked at.
    """
    text = str(location) if isinstance(location, RemotePath) else os.fspath(location)
    options = {"storage_options": storage_options, "cache_bytes": cache_bytes}
    if text.startswith(TFDS):
        _refuse(text, "URLs", options)
        return _of_tfds(text.removeprefix(TFDS), split, data_dir)
    if not is_url(text) and _is_of_tfds(Path(text)):
        _refuse(text, "URLs", options)
        return _converted(Path(text), split)
    _refuse(text, "datasets of TFDS", {"split": split, "data_dir": data_dir})
    if text.startswith(HUB) and download and not isinstance(location, RemotePath):
        from rlds_kit.hub import download as downloaded

        _refuse(text, "URLs that are read where they are (download=False)", options)
        return downloaded(text)
    if text.startswith(HUB) and not text.startswith(HUB_DATASETS) and not isinstance(location, RemotePath):
        location = HUB_DATASETS + text.removeprefix(HUB)  # as its file system calls them
    return as_path(location, storage_options=storage_options, cache_bytes=cache_bytes)


def _refuse(location: str, what: str, given: Mapping[str, object]) -> None:
    """Refuses arguments that mean nothing there."""
    if any(value is not None for value in given.values()):
        raise ValueError(f"{' and '.join(given)} belong to {what}, which {location!r} is not")


def _is_of_tfds(path: Path) -> bool:
    from rlds_kit.convert.tfds.directory import is_tfds_directory

    return is_tfds_directory(path) and not is_dataset(path)


def _of_tfds(name: str, split: str | None, data_dir: str | os.PathLike[str] | None) -> Path:
    from rlds_kit.convert.tfds.directory import find

    name, _, query = name.partition("?")
    asked = dict(parse_qsl(query.replace("+", "%2B"), strict_parsing=True) if query else ())
    if asked.keys() - {"split"} or (asked and split is not None):
        raise ValueError(f"expected ?split=... and nothing else after the name, once, got {query!r}")
    is_path = name.startswith((".", "~")) or Path(name).is_absolute()
    path = Path(name).expanduser() if is_path else find(name, data_dir)
    return _converted(path, asked.get("split", split))


def _converted(path: Path, split: str | None) -> Path:
    """Where the conversion of a dataset of TFDS is; it is made the first time."""
    from rlds_kit.cli.output import progress_bar
    from rlds_kit.convert.cache import made_once
    from rlds_kit.convert.tfds import conversion as tfds_conversion
    from rlds_kit.convert.tfds.directory import INFO, open_directory
    from rlds_kit.convert.tfds.features import FILE

    directory = open_directory(path.absolute())
    files = [file for part in directory.stretches(split) for file, _, _ in directory.files_of(part)]
    identity = {
        "converter": tfds_conversion.VERSION,
        "directory": str(directory.path),  # copies with the times of their originals may hold something else
        "split": [vars(part) for part in directory.stretches(split)],
        "about": [directory.sha256(FILE), directory.sha256(INFO), directory.class_names],
        "files": [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files if each.is_file()],
    }
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    key = f"tfds-{re.sub(r'[^A-Za-z0-9.]+', '-', directory.name)}-{digest[:24]}"

    def make(target: Path) -> None:
        with progress_bar(f"converting {directory.name}", hidden=False) as progress:
            tfds_conversion.convert(directory, split, target, progress)

    return made_once(key, make)
