"""Opens prepared datasets of TFDS with `rlds_kit.open`: the entry point `tfds` of the group `rlds_kit.openers`."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Final
from urllib.parse import parse_qsl

from rlds_kit.base.cache import made_once
from rlds_kit.base.progress import Progress, progress_bar
from rlds_kit.convert import conversion, formats
from rlds_kit.convert.conversion import Report, Source, convert_opened
from rlds_kit.convert.tfds.directory import INFO, TfdsDirectory, find, is_tfds_directory, open_directory
from rlds_kit.convert.tfds.features import FILE
from rlds_kit.convert.tfds.reader import FORMAT, TfdsReader

TFDS: Final = "tfds:"


def opens(location: str) -> bool:
    """Whether a location is a name after "tfds:", or a directory that TFDS has prepared."""
    return location.startswith(TFDS) or is_tfds_directory(Path(location))


def directory_of(location: str, split: str | None, data_dir: str | os.PathLike[str] | None) -> Path:
    """Returns the directory of the converted dataset, and converts it if that was not done before.

    The arguments are those of `rlds_kit.open`.

    Raises:
      As `open_directory` and `convert`; and ValueError for an invalid name.
    """
    if not location.startswith(TFDS):
        return _converted(Path(location), split)
    name, _, query = location.removeprefix(TFDS).partition("?")
    options = dict(parse_qsl(query.replace("+", "%2B"), strict_parsing=True) if query else ())
    if options.keys() - {"split"} or (options and split is not None):
        raise ValueError(f"expected ?split=... and nothing else after the name, once, got {query!r}")
    is_path = name.startswith((".", "~")) or Path(name).is_absolute()
    path = Path(name).expanduser() if is_path else find(name, data_dir)
    return _converted(path, options.get("split", split))


def convert(directory: TfdsDirectory, split: str | None, target: Path, progress: Progress | None = None) -> Report:
    """Writes the episodes of a split into a new dataset, and compares the written episodes with the source.

    Episodes without steps are left out; the metadata of the new dataset name them.

    Args:
      directory: a prepared dataset, from `open_directory`.
      split: as for `tfds.load`; None: the only one.
      target: the directory of the new dataset.
      progress: a callback with the bytes done and the total.

    Raises:
      As `tfds.episodes`; and FormatError, if a written episode differs from the source.
    """
    source = Source(directory.path, FORMAT.name, TfdsReader(directory, split), split or "")
    return convert_opened(source, target, formats.named(conversion.OURS), allow_loss=True, tell=progress)


def _converted(path: Path, split: str | None) -> Path:
    directory = open_directory(path.absolute())
    files = [file for part in directory.stretches(split) for file, _, _ in directory.files_of(part)]
    identity = {
        "converter": conversion.VERSION,
        "directory": str(directory.path),  # a copy may have the time of its original but other content
        "split": [vars(part) for part in directory.stretches(split)],
        "about": [directory.sha256(FILE), directory.sha256(INFO), directory.class_names],
        "files": [(each.name, each.stat().st_size, each.stat().st_mtime_ns) for each in files if each.is_file()],
    }
    digest = hashlib.sha256(json.dumps(identity).encode()).hexdigest()
    key = f"tfds-{re.sub(r'[^A-Za-z0-9.]+', '-', directory.name)}-{digest[:24]}"

    def make(target: Path) -> None:
        with progress_bar(f"converting {directory.name}", hidden=False) as progress:
            convert(directory, split, target, progress)

    return made_once(key, make)
