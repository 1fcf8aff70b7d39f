"""The formats that can be converted from and to."""

from pathlib import Path
from typing import Final

from rlds_kit.base.errors import NotADatasetError
from rlds_kit.convert import arrays, rlds_kit_dataset
from rlds_kit.convert.crowdplay import reader as crowdplay_reader
from rlds_kit.convert.envlogger import format as envlogger_format
from rlds_kit.convert.lerobot import format as lerobot
from rlds_kit.convert.minari import formats as minari
from rlds_kit.convert.protocol import ConversionError, Format
from rlds_kit.convert.tfds import reader as tfds_reader

FORMATS: Final = {
    each.name: each
    for each in (
        rlds_kit_dataset.FORMAT,
        envlogger_format.FORMAT,
        minari.FORMAT,
        minari.ARROW,
        minari.PARQUET,
        lerobot.FORMAT,
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
    """Spells the name of a format as `FORMATS` does, with `-` or `_`; an unknown name is returned unchanged.

    >>> spelled("rlds-kit"), spelled("minari_arrow"), spelled("gif")
    ('rlds_kit', 'minari-arrow', 'gif')
    """
    return next((each for each in FORMATS if each.replace("-", "_") == name.replace("-", "_")), name)


def recognised(path: Path) -> Format:
    """The format of what is at a path.

    Raises:
      NotADatasetError: there is nothing, or nothing that is known.
    """
    for each in FORMATS.values():
        if each.recognises(path):
            return each
    what = "there is nothing" if not path.exists() else "what is there is none of them"
    known = "; ".join(f"{each.name}: {each.summary}" for each in FORMATS.values())
    raise NotADatasetError(f"{path}: expected a dataset of a known format, but {what}. Known are: {known}")
