"""Opens a dataset to lint: of rlds_kit, of a foreign format, or at any address that `rlds_kit.open` takes."""

import os
from pathlib import Path

from rlds_kit.convert import formats
from rlds_kit.dataset.dataset import Dataset, open_dataset
from rlds_kit.dataset.location import open_location
from rlds_kit.lint.foreign_subject import ForeignSubject
from rlds_kit.lint.own_subject import OwnSubject
from rlds_kit.lint.subject import Subject
from rlds_kit.storage.directory import is_dataset


def opened(dataset: str | os.PathLike[str] | Dataset) -> Subject:
    """Opens a dataset.

    Args:
      dataset: an open one, a path, or a location as `rlds_kit.open` takes it.

    Raises:
      NotADatasetError: there is none, or none of a known format.
      FormatError: it is broken.
    """
    if isinstance(dataset, Dataset):
        return OwnSubject(dataset)
    path = Path(dataset)
    if is_dataset(path):
        return OwnSubject(open_dataset(path))
    if path.exists():
        for each in formats.FORMATS.values():
            if each.recognises(path):
                return ForeignSubject(path, each.open(path))
    elif not _is_location(dataset):
        formats.recognised(path)  # the error names what was expected
    return OwnSubject(open_location(dataset))


def _is_location(text: str | os.PathLike[str]) -> bool:
    return ":" in os.fspath(text)
