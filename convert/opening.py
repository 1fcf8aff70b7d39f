"""Opens datasets of other formats: each is converted once, into the cache."""

import hashlib
import json
import os
import re
from pathlib import Path
from typing import Final

from rlds_kit.base.cache import made_once
from rlds_kit.base.progress import Progress
from rlds_kit.convert import formats
from rlds_kit.convert.conversion import OURS, VERSION, Source, convert_opened
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.dataset.location import open_location

_OPENED_AS_THEY_ARE: Final = (OURS, "tfds")


def open_any(location: str | os.PathLike[str], progress: Progress | None = None) -> Dataset:
    """Opens all locations of `rlds_kit.open`, and directories and files of all other formats.

    Args:
      location: a directory, a file, or another location that `rlds_kit.open` supports.
      progress: called with bytes while a dataset is converted, when it is opened for the first time.

    Raises:
      As `rlds_kit.open` and `conversion.convert`; values that our own format cannot store are an error.
    """
    path = Path(location)
    if not path.exists() or formats.recognised(path).name in _OPENED_AS_THEY_ARE:
        return open_location(location)
    found = formats.recognised(path)
    source = Source(path, found.name, found.open(path))
    digest = hashlib.sha256(json.dumps([VERSION, source.identity()]).encode()).hexdigest()
    key = f"{found.name}-{re.sub(r'[^A-Za-z0-9.]+', '-', path.absolute().name)}-{digest[:24]}"
    wanted = formats.named(OURS)
    return open_dataset(made_once(key, lambda to: convert_opened(source, to, wanted, allow_loss=False, tell=progress)))
