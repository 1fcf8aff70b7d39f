"""Opens a dataset wherever it is: a directory of ours, one that TFDS has prepared, the Hugging Face Hub."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from rlds_kit.dataset import Dataset, open_dataset
from rlds_kit.storage.directory import is_dataset

TFDS: Final = "tfds:"
HUB: Final = "hf://"
_SCHEME: Final = re.compile(r"[a-z][a-z0-9+.-]*://")


def open_location(
    location: str | os.PathLike[str],
    *,
    split: str | None = None,
    data_dir: str | os.PathLike[str] | None = None,
    include_open: bool = False,
) -> Dataset:
    """Opens a dataset, as it is now.

    What TFDS has prepared is converted when it is opened for the first time, into the directory that `RLDS_KIT_CACHE`
    names, or ~/.cache/rlds_kit; neither TFDS nor TensorFlow is needed for that.

    Args:
      location: a directory; "tfds:name/config:version" or "tfds:/path/to/name/1.0.0", with "?split=train" at its end if
        you like; "hf://org/name@revision".
      split: of a dataset of TFDS, as in "train", "train[:10%]", "train+test", "all"; None: the only one.
      data_dir: where TFDS keeps its datasets; None: as `TFDS_DATA_DIR` says, or ~/tensorflow_datasets.
      include_open: also list episodes that are being recorded; their `end` is None.

    Raises:
      NotADatasetError: there is no dataset.
      FormatError: it is not what it should be, or of a newer major version.
      SpecError: a dataset of TFDS has features of a kind that is not known.
      DamagedError: a dataset of TFDS, or of the Hub, does not match its checksums.
      ValueError: the location is of no known kind, or there is no such split.
    """
    return open_dataset(local_directory(location, split=split, data_dir=data_dir), include_open=include_open)


def local_directory(
    location: str | os.PathLike[str], *, split: str | None = None, data_dir: str | os.PathLike[str] | None = None
) -> Path:
    """The directory of ours that a location stands for; datasets are downloaded and converted as need be.

    Args and errors are those of `open_location`; whether there is a dataset in a directory is not looked at.
    """
    text = os.fspath(location)
    if text.startswith(TFDS):
        return _of_tfds(text.removeprefix(TFDS), split, data_dir)
    path = Path(location)
    if not _SCHEME.match(text) and _is_of_tfds(path):
        return _converted(path, split)
    if split is not None or data_dir is not None:
        raise ValueError(f"split and data_dir belong to datasets of TFDS, which {text!r} is not")
    if text.startswith(HUB):
        from rlds_kit.hub import download

        return download(text)
    if _SCHEME.match(text):
        raise ValueError(
            f"expected a directory, tfds:name or hf://org/name, got {text!r}; copy the dataset to a directory"
        )
    return path


def _is_of_tfds(path: Path) -> bool:
    from rlds_kit.convert.tfds_directory import is_tfds_directory

    return is_tfds_directory(path) and not is_dataset(path)


def _of_tfds(name: str, split: str | None, data_dir: str | os.PathLike[str] | None) -> Path:
    from rlds_kit.convert.tfds_directory import find

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
    from rlds_kit.convert import tfds_conversion
    from rlds_kit.convert.cache import made_once
    from rlds_kit.convert.tfds_directory import INFO, open_directory
    from rlds_kit.convert.tfds_features import FILE

    directory = open_directory(path.absolute())
    files = [file for part in directory.stretches(split) for file, _, _ in directory.files_of(part)]
    identity = {
        "converter": tfds_conversion.VERSION,
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
