"""Opens datasets at any location: our directories, those that TFDS has prepared, the Hugging Face Hub, URLs."""

import importlib.metadata
import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final, Protocol

from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.remote.address import is_url
from rlds_kit.remote.path import RemotePath, as_path
from rlds_kit.storage.directory import is_dataset

HUB: Final = "hf://"
HUB_DATASETS: Final = "hf://datasets/"
OPENERS: Final = "rlds_kit.openers"
"""The group of entry points for an `Opener` of another format."""


class Opener(Protocol):
    """The interface of openers, which convert datasets of another format into the cache; a module can be one."""

    def opens(self, location: str) -> bool:
        """Whether a location has this format."""
        ...

    def directory_of(self, location: str, split: str | None, data_dir: str | os.PathLike[str] | None) -> Path:
        """The directory with the converted dataset, which is converted now if necessary."""
        ...


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
    """Opens a dataset, as a snapshot.

    A dataset that TFDS has prepared is converted when it is opened for the first time, into the directory
    `RLDS_KIT_CACHE`, or ~/.cache/rlds_kit; neither TFDS nor TensorFlow is needed for that.

    From a URL only the required bytes are fetched, through a disk cache in the same directory.

    Args:
      location: a directory; "tfds:name/config:version" or "tfds:/path/to/name/1.0.0", optionally with "?split=train" at
        its end; "hf://org/name@revision"; any URL that fsspec supports, such as "https://host/pong",
        "s3://bucket/pong", "zip://pong::https://host/pong.zip".
      split: of a dataset of TFDS, such as "train", "train[:10%]", "train+test", "all"; None: the only one.
      data_dir: directory of TFDS's datasets; None: `TFDS_DATA_DIR`, or ~/tensorflow_datasets.
      include_open: also list episodes that are being recorded; their `end` is None.
      download: whether to download a dataset of the Hub completely, or to read it remotely.
      storage_options: of fsspec for the URL's file system, for example credentials.
      cache_bytes: size limit of the disk cache for all URLs, 0 disables it; None: `RLDS_KIT_CACHE_BYTES`, or 4 GiB.

    Raises:
      NotADatasetError: there is no dataset.
      CacheError: the converted dataset cannot be written to the cache.
      RemoteError: a URL cannot be read.
      MissingExtraError: the library that reads such URLs is not installed.
      FormatError: it does not have the expected format, or has a newer major version.
      SpecError: a dataset of TFDS has features of an unknown kind.
      DamagedError: a dataset of TFDS, or of the Hub, does not match its checksums.
      ValueError: the kind of location is unknown, or there is no such split.
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
    """The local or remote directory of a location; datasets are downloaded and converted if necessary.

    Args and errors as in `open_location`; it does not check whether a directory contains a dataset.
    """
    text = str(location) if isinstance(location, RemotePath) else os.fspath(location)
    options = {"storage_options": storage_options, "cache_bytes": cache_bytes}
    if not is_url(text) and not is_dataset(Path(text)):
        for opener in _openers():
            if opener.opens(text):
                _refuse(text, "URLs", options)
                return opener.directory_of(text, split, data_dir)
    _refuse(text, "datasets of TFDS", {"split": split, "data_dir": data_dir})
    if text.startswith(HUB) and download and not isinstance(location, RemotePath):
        from rlds_kit.dataset.hub import download as downloaded

        _refuse(text, "URLs that are read where they are (download=False)", options)
        return downloaded(text)
    if text.startswith(HUB) and not text.startswith(HUB_DATASETS) and not isinstance(location, RemotePath):
        location = HUB_DATASETS + text.removeprefix(HUB)  # with the names of its file system
    return as_path(location, storage_options=storage_options, cache_bytes=cache_bytes)


def _refuse(location: str, what: str, given: Mapping[str, object]) -> None:
    """Raises an error for arguments that do not apply."""
    if any(value is not None for value in given.values()):
        raise ValueError(f"{' and '.join(given)} belong to {what}, which {location!r} is not")


@cache
def _openers() -> tuple[Opener, ...]:
    """The openers of other formats from installed packages."""
    return tuple(point.load() for point in importlib.metadata.entry_points(group=OPENERS))
