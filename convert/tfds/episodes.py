"""Reads datasets of episodes that TFDS has prepared: RL Unplugged, D4RL, Open X-Embodiment and their like.

Neither TFDS nor TensorFlow is needed.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from rlds_kit.base.errors import FormatError, RldsKitError
from rlds_kit.convert.tfds.columns import Column, count_steps, metadata, step_columns
from rlds_kit.convert.tfds.directory import Record, TfdsDirectory
from rlds_kit.convert.tfds.features import FILE
from rlds_kit.convert.tfds.tf_example import Example


@dataclass(frozen=True)
class TfdsEpisode:
    """An episode in the form of TFDS.

    Attributes:
      metadata: all features but the steps.
      columns: of all features of steps, by path as in "observation/image": `[steps, ...]`, or a list.
      length: number of steps.
      split: that contains it.
      file: name of the file.
      record: its number in the file.
    """

    metadata: dict[str, Any]
    columns: dict[str, Column]
    length: int
    split: str
    file: str
    record: int


def episodes(directory: TfdsDirectory, split: str | None = None) -> Iterator[TfdsEpisode]:
    """The episodes of a split, one after the other, in the order of its files.

    Args:
      directory: a prepared dataset, from `tfds_directory.open_directory`.
      split: as for `tfds.load`: "train", "train[:10%]", "train+test", "all"; None: the only one.

    Raises:
      ValueError: there is no such split.
      NotADatasetError: a file is missing.
      DamagedError: a file does not match its checksums, or ends too early.
      FormatError: an episode does not match the features.
      MissingExtraError: there are images, and nothing is installed to decode them.
    """
    for stretch in directory.stretches(split):
        for record in directory.records(stretch):
            yield read_episode(directory, record)


def read_episode(directory: TfdsDirectory, record: Record) -> TfdsEpisode:
    """Decodes a record.

    Raises:
      FormatError: it does not match the features; the message names it.
      MissingExtraError: there are images, and nothing is installed to decode them.
    """
    features = directory.features
    with naming(record):
        example = Example(record.data)
        length = count_steps(example, features.steps)
        columns = step_columns(example, features.steps, length)
        found = metadata(example, features.metadata)
    return TfdsEpisode(found, columns, length, record.split, record.file.name, record.number)


@contextlib.contextmanager
def naming(record: Record) -> Iterator[None]:
    """Adds the record to errors; converts errors of impossible values to a FormatError."""
    try:
        yield
    except RldsKitError as error:
        if not isinstance(error, FormatError):
            raise
        raise FormatError(f"{record.file}, record {record.number}: {error}") from error
    except (ValueError, TypeError, LookupError, ArithmeticError) as error:
        what = f"expected an episode as {FILE} says: {error}"
        raise FormatError(f"{record.file}, record {record.number}: {what}") from error
