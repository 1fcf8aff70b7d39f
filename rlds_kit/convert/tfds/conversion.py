"""Writes a split of a dataset of TFDS into one of ours."""

from pathlib import Path
from typing import Final

from rlds_kit.convert import conversion, formats
from rlds_kit.convert.conversion import Report, Source, convert_opened
from rlds_kit.convert.tfds.directory import TfdsDirectory
from rlds_kit.convert.tfds.reader import FORMAT, TfdsReader
from rlds_kit.upkeep.report import Progress

VERSION: Final = conversion.VERSION
"""Of the conversion: datasets that an older one made are made again."""


def convert(directory: TfdsDirectory, split: str | None, target: Path, progress: Progress | None = None) -> Report:
    """Writes the episodes of a split into a new dataset, and compares what was written with what was read.

    Episodes without steps are left out; the metadata of the new dataset name them.

    Args:
      directory: a prepared dataset, from `tfds_directory.open_directory`.
      split: as `tfds.load` takes it; None: the only one.
      target: the directory of the new dataset.
      progress: called with the bytes that are done and the bytes there are.

    Raises:
      As `tfds.episodes`; and FormatError, if a written episode is not the one that was read.
    """
    source = Source(directory.path, FORMAT.name, TfdsReader(directory, split), split or "")
    return convert_opened(source, target, formats.named(conversion.OURS), allow_loss=True, tell=progress)
