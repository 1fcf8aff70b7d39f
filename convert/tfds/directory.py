"""A dataset that TFDS has prepared: its directory, its metadata, and its files of episodes.

Neither TFDS nor TensorFlow is needed: `dataset_info.json` (https://www.tensorflow.org/datasets/external_tfrecord) has
the names of splits, and the number of episodes in each file.
"""

import hashlib
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from rlds_kit import riegeli
from rlds_kit.base.errors import DamagedError, FormatError, NotADatasetError, SpecError
from rlds_kit.convert.tfds import tf_record
from rlds_kit.convert.tfds.features import FILE as FEATURES
from rlds_kit.convert.tfds.features import EpisodeFeatures, class_names, read_features, read_json
from rlds_kit.convert.tfds.splits import ALL, Stretch, stretches
from rlds_kit.riegeli import array_record

INFO: Final = "dataset_info.json"
DATA_DIR: Final = "TFDS_DATA_DIR"
DEFAULT_DATA_DIR: Final = "~/tensorflow_datasets"
_TEMPLATE: Final = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}"
_MOST: Final = 1 << 40
"""Episodes of a file."""
_OTHER_STRUCTURE: Final = (ValueError, LookupError, TypeError, AttributeError, RecursionError, OverflowError)
"""The errors that reading JSON of another structure raises."""
_NAME: Final = re.compile(r"(?P<name>[\w]+)(/(?P<config>[\w+.-]+))?(:(?P<version>[\d*.]+))?")
_VERSION: Final = re.compile(r"\d+\.\d+\.\d+")


@dataclass(frozen=True)
class Record:
    """The position of a record in the files of a dataset.

    Attributes:
      split: of the dataset.
      file: that contains it.
      number: in the file.
      data: the record.
    """

    split: str
    file: Path
    number: int
    data: bytes


@dataclass(frozen=True)
class TfdsDirectory:
    """A prepared dataset. Made by `open_directory`.

    Attributes:
      path: the directory of one version.
      info: the content of `dataset_info.json`.
      features: of steps and episodes.
      shard_lengths: of each split, the number of episodes in each of its files.
    """

    path: Path
    info: Mapping[str, Any]
    features: EpisodeFeatures
    shard_lengths: Mapping[str, tuple[int, ...]]

    @property
    def name(self) -> str:
        """The name for `tfds.load`: "name/config:version"."""
        config = f"/{self.info['configName']}" if self.info.get("configName") else ""
        return f"{self.info['name']}{config}:{self.info.get('version', '')}"

    @property
    def file_format(self) -> str:
        """The format of the files: "tfrecord" or "array_record"."""
        return str(self.info.get("fileFormat") or "tfrecord")

    @property
    def class_names(self) -> dict[str, list[str]]:
        """The names of the classes of labels, by path."""
        return class_names(self.path, self.features)

    def stretches(self, split: str | None) -> list[Stretch]:
        """The episodes of a split; of the only one, if None.

        Raises:
          ValueError: there is no such split, or none is given and there are several.
        """
        if split is None and len(self.shard_lengths) > 1:
            names = ", ".join(self.shard_lengths)
            raise ValueError(f"{self.path} has the splits {names}: say which, as in split='train', or {ALL!r} for all")
        return stretches(split or ALL, self.shard_lengths)

    def files(self, split: str) -> list[Path]:
        """The files of a split, in order."""
        templates = {each["name"]: each.get("filepathTemplate") for each in self.info["splits"]}
        lengths = self.shard_lengths[split]
        words = {"DATASET": self.info["name"], "SPLIT": split, "FILEFORMAT": self.file_format}
        words["NUM_SHARDS"] = f"{len(lengths):05d}"
        named = []
        for shard in range(len(lengths)):
            index = {"SHARD_INDEX": f"{shard:05d}", "SHARD_X_OF_Y": f"{shard:05d}-of-{len(lengths):05d}"}
            named.append(self.path / (templates[split] or _TEMPLATE).format(**words, **index))
        return named

    def files_of(self, stretch: Stretch) -> Iterator[tuple[Path, int, range]]:
        """The files of a stretch, each with its number of records and the range of the records to read."""
        first = 0
        for path, length in zip(self.files(stretch.split), self.shard_lengths[stretch.split], strict=True):
            wanted = range(max(0, stretch.begin - first), min(length, stretch.end - first))
            if wanted:
                yield path, length, wanted
            first += length

    def records(self, stretch: Stretch) -> Iterator[Record]:
        """The episodes of a stretch, as they are stored.

        Raises:
          NotADatasetError: a file is missing.
          DamagedError: a file does not match its checksums, or ends too early; the message names the place.
          FormatError: a file has another number of records than the metadata.
        """
        for path, length, wanted in self.files_of(stretch):
            count = wanted.start
            for number, data in enumerate(_READERS[self.file_format](path, wanted.start), wanted.start):
                if number >= wanted.stop < length:
                    break
                if number in wanted:
                    yield Record(stretch.split, path, number, data)
                count = number + 1
            else:
                _require_all(path, count, length)

    def sha256(self, name: str) -> str:
        """The SHA-256 of `features.json` or `dataset_info.json`, in hexadecimal."""
        return hashlib.sha256((self.path / name).read_bytes()).hexdigest()


def is_tfds_directory(path: Path) -> bool:
    """Whether TFDS has prepared a dataset there."""
    return (path / FEATURES).is_file() and (path / INFO).is_file()


def open_directory(path: Path) -> TfdsDirectory:
    """Reads the metadata of a prepared dataset.

    Raises:
      NotADatasetError: there is none.
      FormatError: its files are invalid, or have a format without a reader.
      SpecError: a feature is of a kind that is not supported.
    """
    if not is_tfds_directory(path):
        raise NotADatasetError(
            f"{path}: expected a dataset prepared by TFDS, with {FEATURES} and {INFO}; give the directory of one "
            "version, as in ~/tensorflow_datasets/name/config/1.0.0"
        )
    file = path / INFO
    try:
        info = read_json(file)
        lengths = {str(each["name"]): tuple(map(int, each.get("shardLengths", ()))) for each in info["splits"]}
        found = TfdsDirectory(path, info, read_features(path), lengths)
        _require_sound(found)
    except (FormatError, SpecError):
        raise
    except _OTHER_STRUCTURE as error:
        raise FormatError(f"{file}: expected the metadata of a dataset of TFDS: {error}") from error
    return found


def _require_sound(directory: TfdsDirectory) -> None:
    """Checks that the metadata of a dataset are plausible, and refer to no file outside its directory."""
    file, lengths = directory.path / INFO, directory.shard_lengths
    if not isinstance(directory.info["name"], str) or any(
        not 0 <= count <= _MOST for each in lengths.values() for count in each
    ):
        raise FormatError(f"{file}: expected a name, and numbers of episodes from 0 to {_MOST}")
    if directory.file_format not in _READERS:
        raise FormatError(
            f"{file}: expected episodes in {' or '.join(_READERS)}, got {directory.file_format}; convert them with "
            "`tfds convert_format`"
        )
    for split in lengths:
        for path in directory.files(split):
            if path.parent != directory.path or path.name in ("", ".", "..") or set(path.name) & set("/\\\0"):
                raise FormatError(f"{file}: expected files of the directory itself, got {path}")


def find(name: str, data_dir: str | os.PathLike[str] | None = None) -> Path:
    """Finds the directory in which TFDS has prepared a dataset.

    Args:
      name: "name", "name/config", "name:version" or "name/config:version". Of several versions the highest is used.
      data_dir: the directory of TFDS's datasets; None: `TFDS_DATA_DIR`, or ~/tensorflow_datasets.

    Raises:
      ValueError: the name is invalid, or there are several configurations.
      NotADatasetError: it is not prepared; the message explains how.
    """
    matched = _NAME.fullmatch(name)
    if matched is None:
        raise ValueError(f"expected the name of a dataset of TFDS, such as name/config:1.0.0, got {name!r}")
    root = Path(data_dir or os.environ.get(DATA_DIR) or DEFAULT_DATA_DIR).expanduser()
    parent = root / matched["name"]
    if matched["config"]:
        parent /= matched["config"]
    elif not _versions(parent, "*") and (configs := _configs(parent)):
        if len(configs) > 1:
            choices = ", ".join(f"{matched['name']}/{each.name}" for each in configs)
            raise ValueError(f"{name!r} has several configurations; say which: {choices}")
        parent = configs[0]
    versions = _versions(parent, matched["version"] or "*")
    if not versions:
        raise NotADatasetError(
            f"{name!r} is not prepared in {root}. Let TFDS do that: "
            f'`python -c "import tensorflow_datasets as tfds; tfds.builder({name!r}).download_and_prepare()"`, or say '
            f"where it is with data_dir=, {DATA_DIR}, or by its path, as in open('tfds:/path/to/name/1.0.0')"
        )
    return versions[-1]


def _versions(parent: Path, wanted: str) -> list[Path]:
    """Prepared versions that fit "1.0.0" or "1.*.*", the lowest first."""
    pattern = re.compile(r"\d+(\.\d+)*" if wanted == "*" else re.escape(wanted).replace(r"\*", r"\d+"))
    found = [path for path in (parent.iterdir() if parent.is_dir() else ()) if pattern.fullmatch(path.name)]
    prepared = [path for path in found if _VERSION.fullmatch(path.name) and is_tfds_directory(path)]
    return sorted(prepared, key=lambda path: [int(part) for part in path.name.split(".")])


def _configs(parent: Path) -> list[Path]:
    return sorted(path for path in (parent.iterdir() if parent.is_dir() else ()) if _versions(path, "*"))


def _require_all(path: Path, count: int, length: int) -> None:
    if count != length:
        raise FormatError(
            f"{path}: expected {length} episodes, as {INFO} says, but there are {count}; get the file again from "
            "where it came from"
        )


def _tf_records(path: Path, begin: int) -> Iterator[bytes]:
    _require_file(path)
    return tf_record.records(path, begin)


def _array_records(path: Path, begin: int) -> Iterator[bytes]:
    _require_file(path)
    try:
        with path.open("rb") as file:
            footer = array_record.read_footer(file)
            if footer is None:
                raise DamagedError(f"{path}: expected an ArrayRecord file with its index at the end, but there is none")
            with riegeli.RecordReader(file) as reader:
                number = _go_near(reader, footer, begin)
                while number < footer.num_records and (record := reader.read_record()) is not None:
                    if number >= begin:
                        yield record
                    number += 1
    except riegeli.DamagedError as error:
        if isinstance(error, DamagedError):
            raise
        raise DamagedError(f"{path}: {error.message}", begin=error.begin, end=error.end) from error


def _go_near(reader: riegeli.RecordReader, footer: array_record.Footer, begin: int) -> int:
    """Seeks the chunk of a record; returns the number of its first record."""
    number = 0
    for chunk in footer.chunks if begin else ():
        if number + chunk.num_records > begin:
            reader.seek(chunk.chunk_offset)
            break
        number += chunk.num_records
    return number


def _require_file(path: Path) -> None:
    if not path.is_file():
        raise NotADatasetError(f"{path}: {INFO} names this file, but it is not there; prepare the dataset again")


_READERS: Final = {"tfrecord": _tf_records, "array_record": _array_records}
