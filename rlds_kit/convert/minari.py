"""Minari's datasets behind the protocol of conversions."""

from pathlib import Path
from typing import Final

from rlds_kit.convert.minari_reader import MAIN_FILE, METADATA_FILE, MinariReader, data_directory
from rlds_kit.convert.minari_writer import MinariWriter
from rlds_kit.convert.protocol import Capabilities, Format


def _recognises(path: Path) -> bool:
    directory = data_directory(path)
    if not (directory / METADATA_FILE).is_file():
        return False
    return (directory / MAIN_FILE).is_file() or (directory / "0").is_dir()


FORMAT: Final = Format(
    name="minari",
    summary="a dataset of Minari, stored as HDF5",
    recognises=_recognises,
    open=MinariReader,
    capabilities=Capabilities(
        missing_final_observation=False,
        gaps=False,
        other_fields=False,
        changing_fields=False,
        discount=False,
        end=True,
        episode_metadata=False,
        seeds=True,
    ),
    create=MinariWriter,
)
