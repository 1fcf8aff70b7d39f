"""The files of layers: `layers/<name>/annotations-*.riegeli`, one for each writer."""

import re
import time
import uuid
from pathlib import Path
from typing import Final

from rlds_kit.base.append_file import sync_directory

LAYERS: Final = "layers"
FILE_PATTERN: Final = "annotations-*.riegeli"
PATTERN: Final = f"{LAYERS}/*/{FILE_PATTERN}"
"""The pattern of the files of all layers, relative to the dataset."""
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")


def require_name(name: str) -> str:
    """Validates the name of a layer, which every file system must support.

    Raises:
      ValueError: it is none.

    >>> require_name("human-rewards")
    'human-rewards'
    """
    if not _NAME.fullmatch(name):
        raise ValueError(f"expected the name of a layer, of letters, digits and . _ - (at most 100), got {name!r}")
    return name


def layer_names(dataset: Path) -> list[str]:
    """The layers that have files, sorted."""
    return sorted({path.parent.name for path in dataset.glob(PATTERN)})


def layer_files(dataset: Path, name: str) -> list[Path]:
    """The files of a layer, in the order of their names."""
    return sorted((dataset / LAYERS / require_name(name)).glob(FILE_PATTERN))


def new_file(dataset: Path, name: str) -> Path:
    """A unique name for the file of a new writer; creates its directory durably.

    Raises:
      OSError: it cannot be created.
    """
    directory = dataset / LAYERS / require_name(name)
    directory.mkdir(parents=True, exist_ok=True)
    for each in (directory.parent, dataset):  # another writer may have created them and not synced yet
        sync_directory(each)
    seconds, nanoseconds = divmod(time.time_ns(), 10**9)
    began = f"{time.strftime('%Y%m%dT%H%M%S', time.gmtime(seconds))}{nanoseconds // 1000:06d}Z"
    return directory / f"annotations-{began}-{uuid.uuid4().hex[:12]}.riegeli"
