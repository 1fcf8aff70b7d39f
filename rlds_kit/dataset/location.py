"""Opens a dataset wherever it is: a directory of ours, one that TFDS has prepared, the Hugging Face Hub, any URL."""

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
"""The group of entry points that name an `Opener`, for formats of which `open` knows nothing."""


class Opener(Protocol):
    """Opens datasets of another format, converted once into the cache; a module that has these two functions is one."""

    def opens(self, location: str) -> bool:
        """Whether a location is of this format."""
        ...

    def directory_of(self, location: str, split: str | None, data_dir: str | os.PathLike[str] | None) -> Path:
        """The directory that a dataset of this format was converted to, now or before."""
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
        location = HUB_DATASETS + text.removeprefix(HUB)  # as its file system calls them
    return as_path(location, storage_options=storage_options, cache_bytes=cache_bytes)


def _refuse(location: str, what: str, given: Mapping[str, object]) -> None:
    """Refuses arguments that mean nothing there."""
    if any(value is not None for value in given.values()):
        raise ValueError(f"{' and '.join(given)} belong to {what}, which {location!r} is not")


@cache
def _openers() -> tuple[Opener, ...]:
    """The openers of other formats that installed packages name."""
    return tuple(point.load() for point in importlib.metadata.entry_points(group=OPENERS))
