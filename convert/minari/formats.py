"""Minari's datasets behind the protocol of conversions: a format for each of the ways in which it stores them."""

import functools
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.minari.arrow import ArrowWriter, ParquetWriter
from rlds_kit.convert.minari.hdf5_storage import MAIN_FILE, Hdf5Writer
from rlds_kit.convert.minari.reader import MinariReader
from rlds_kit.convert.minari.storage import METADATA_FILE, data_directory, read_json
from rlds_kit.convert.minari.writer import MinariWriter
from rlds_kit.convert.protocol import Capabilities, Format

CAPABILITIES: Final = Capabilities(
    missing_final_observation=False,
    gaps=False,
    other_fields=False,
    changing_fields=False,
    discount=False,
    end=True,
    episode_metadata=False,
    seeds=True,
)


def _recognises(data_format: str, path: Path) -> bool:
    directory = data_directory(path)
    if not (directory / METADATA_FILE).is_file():
        return False
    has_file = (directory / MAIN_FILE).is_file()
    try:
        stored = read_json(directory / METADATA_FILE).get("data_format", "hdf5" if has_file else None)
    except FormatError:
        return has_file and data_format == "hdf5"  # whose reader reports what is wrong with it
    return bool(stored == data_format)


def _format(name: str, data_format: str, summary: str, storage: type) -> Format:
    return Format(
        name=name,
        summary=f"a dataset of Minari, stored as {summary}",
        recognises=functools.partial(_recognises, data_format),
        open=MinariReader,
        capabilities=CAPABILITIES,
        create=functools.partial(MinariWriter, storage),
    )


FORMAT: Final = _format("minari", "hdf5", "HDF5", Hdf5Writer)
ARROW: Final = _format("minari-arrow", "arrow", "Arrow", ArrowWriter)
PARQUET: Final = _format("minari-parquet", "parquet", "Parquet", ParquetWriter)
