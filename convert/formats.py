"""The formats that can be converted from and to."""

import functools
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import FormatError, NotADatasetError
from rlds_kit.convert import arrays, rlds_kit_dataset
from rlds_kit.convert.crowdplay import reader as crowdplay_reader
from rlds_kit.convert.envlogger import reader as envlogger_reader
from rlds_kit.convert.envlogger.writer import EnvLoggerWriter
from rlds_kit.convert.lerobot.info import INFO
from rlds_kit.convert.lerobot.reader import LeRobotReader
from rlds_kit.convert.lerobot.writer import LeRobotWriter
from rlds_kit.convert.minari import storage as minari_storage
from rlds_kit.convert.minari.arrow import ArrowWriter, ParquetWriter
from rlds_kit.convert.minari.hdf5_storage import MAIN_FILE, Hdf5Writer
from rlds_kit.convert.minari.reader import MinariReader
from rlds_kit.convert.minari.writer import MinariWriter
from rlds_kit.convert.protocol import ConversionError, Format
from rlds_kit.convert.tfds import reader as tfds_reader

_CHECKED: Final = 1 << 20
"""Bytes of LeRobot's description that are searched for its version."""


def _is_envlogger(path: Path) -> bool:
    return (path / envlogger_reader.METADATA_FILE).is_file()


def _is_lerobot(path: Path) -> bool:
    """Whether there is a LeRobot dataset, of a version that can be read or not."""
    info = path / INFO
    if not info.is_file():
        return False
    with info.open("rb") as file:
        return b'"codebase_version"' in file.read(_CHECKED)


def _is_minari(data_format: str, path: Path) -> bool:
    directory = minari_storage.data_directory(path)
    metadata = directory / minari_storage.METADATA_FILE
    if not metadata.is_file():
        return False
    has_file = (directory / MAIN_FILE).is_file()
    try:
        stored = minari_storage.read_json(metadata).get("data_format", "hdf5" if has_file else None)
    except FormatError:
        return has_file and data_format == "hdf5"  # its reader reports the problem
    return bool(stored == data_format)


def _minari(name: str, data_format: str, summary: str, storage: type) -> Format:
    """The format of one of Minari's storages."""
    return Format(
        name=name,
        summary=f"a dataset of Minari, stored as {summary}",
        recognises=functools.partial(_is_minari, data_format),
        open=MinariReader,
        create=functools.partial(MinariWriter, storage),
    )


FORMATS: Final = {
    each.name: each
    for each in (
        rlds_kit_dataset.FORMAT,
        Format(
            name="envlogger",
            summary="a directory of EnvLogger's, with metadata.riegeli",
            recognises=_is_envlogger,
            open=envlogger_reader.EnvLoggerReader,
            create=EnvLoggerWriter,
        ),
        _minari("minari", "hdf5", "HDF5", Hdf5Writer),
        _minari("minari-arrow", "arrow", "Arrow", ArrowWriter),
        _minari("minari-parquet", "parquet", "Parquet", ParquetWriter),
        Format(
            name="lerobot",
            summary="a dataset of LeRobot, version 3",
            recognises=_is_lerobot,
            open=LeRobotReader,
            create=LeRobotWriter,
        ),
        arrays.FORMAT,
        tfds_reader.FORMAT,
        crowdplay_reader.FORMAT,
    )
}
"""The formats by name. The first one that recognises a path opens it."""
WRITABLE: Final = tuple(name for name, each in FORMATS.items() if each.create is not None)


def named(name: str) -> Format:
    """The format of a name, in which hyphens and underscores are the same.

    Raises:
      ConversionError: there is none.

    >>> named("rlds-kit").name
    'rlds_kit'
    """
    name = spelled(name)
    if name not in FORMATS:
        raise ConversionError(f"expected one of the formats {', '.join(FORMATS)}, got {name!r}")
    return FORMATS[name]


def spelled(name: str) -> str:
    """The name of a format as in `FORMATS`, with `-` or `_`; an unknown name is returned unchanged.

    >>> spelled("rlds-kit"), spelled("minari_arrow"), spelled("gif")
    ('rlds_kit', 'minari-arrow', 'gif')
    """
    return next((each for each in FORMATS if each.replace("-", "_") == name.replace("-", "_")), name)


def recognised(path: Path) -> Format:
    """Detects the format of a path.

    Raises:
      NotADatasetError: there is no file, or none of a known format.
    """
    for each in FORMATS.values():
        if each.recognises(path):
            return each
    what = "there is nothing" if not path.exists() else "what is there is none of them"
    known = "; ".join(f"{each.name}: {each.summary}" for each in FORMATS.values())
    raise NotADatasetError(f"{path}: expected a dataset of a known format, but {what}. Known are: {known}")
