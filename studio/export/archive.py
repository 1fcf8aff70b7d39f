"""Makes one file of a directory: a ZIP, whose parts are stored without compression, as they are compressed already."""

import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Final

from rlds_kit.base.whole_file import whole_file

_TOGETHER: Final = 1 << 20


def archive(directory: Path, destination: Path, progress: Callable[[int], None] = lambda _: None) -> None:
    """Writes the files below a directory to a ZIP, which appears only when it is complete.

    Args:
      directory: its name is the first part of the paths in the archive.
      destination: of the archive; replaced if it exists.
      progress: called with the number of bytes that were copied.

    Raises:
      OSError: a file cannot be read or written.

    >>> archive(Path("data/pong"), Path("pong.zip"))  # doctest: +SKIP
    """
    with (
        whole_file(destination, destination.with_suffix(".partial")) as partial,
        zipfile.ZipFile(partial, "w", zipfile.ZIP_STORED) as made,
    ):
        for path in sorted(each for each in directory.rglob("*") if each.is_file()):
            _add(made, path, f"{directory.name}/{path.relative_to(directory).as_posix()}", progress)


def _add(made: zipfile.ZipFile, path: Path, name: str, progress: Callable[[int], None]) -> None:
    about = zipfile.ZipInfo.from_file(path, name)
    with path.open("rb") as file, made.open(about, "w") as copy:
        while data := file.read(_TOGETHER):
            copy.write(data)
            progress(len(data))
