"""Reads NPZ files from untrusted sources. Arrays are decompressed when they are needed, in threads.

https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

import contextlib
import json
import math
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy

from rlds_kit.convert.decoded_size import require_plausible
from rlds_kit.convert.nest_of_paths import unflattened
from rlds_kit.convert.npz_array import COPIED_BYTES, Arrays, NpzArray, as_format_errors

_NAMES: Final = "names.json"
_SMALL_FILE: Final = 1 << 16
"""Bytes of arrays that are read rather than mapped: empty ones cannot be mapped."""
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def open_npz(path: Path) -> dict[str, Any]:
    """Opens the arrays of an NPZ file; slashes in their names separate groups.

    Raises:
      FormatError: it is not such a file, or it has pickled objects. That an array is damaged is an error when it is
        read.
    """
    with _opened(path) as archive:
        members = archive.infolist()
        require_plausible(sum(member.file_size for member in members), path.stat().st_size, str(path))
        arrays, found = Arrays(path), dict[str, NpzArray]()
        for member in members:
            with archive.open(member) as file:
                found[member.filename] = NpzArray(arrays, member, *_header(file, member.file_size))
        arrays.members.update(found.values())
        return _tree(found)


def extract_npz(path: Path, directory: Path) -> None:
    """Decompresses the arrays of an NPZ file into a directory, from which `map_extracted` maps them into memory.

    Raises:
      FormatError: the file is damaged.
    """
    directory.mkdir()
    with _opened(path) as archive:
        members = archive.infolist()

        def extract(number: int) -> None:
            # Names in the archive may be any text, also paths that lead out of the directory.
            with archive.open(members[number]) as packed, (directory / f"{number}.npy").open("wb") as file:
                shutil.copyfileobj(packed, file, COPIED_BYTES)

        _in_threads(extract, range(len(members)), lambda number: members[number].file_size)
    (directory / _NAMES).write_text(json.dumps([member.filename for member in members]), "utf-8")


def map_extracted(directory: Path) -> dict[str, Any]:
    """Maps the arrays that `extract_npz` has written into memory."""
    names = json.loads((directory / _NAMES).read_text("utf-8"))
    return _tree({name: _mapped(directory / f"{number}.npy") for number, name in enumerate(names)})


def _in_threads(do: Callable[[Any], None], items: Sequence[Any], size: Callable[[Any], int]) -> None:
    """Does something for each item in threads, the largest first. zlib works without the interpreter's lock."""
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(do, sorted(items, key=size, reverse=True)):
            pass


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    with as_format_errors(path), zipfile.ZipFile(path) as archive:
        yield archive


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Reads shape, order, dtype and first byte of an array, which are checked against the `size` bytes of all."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of NumPy's format")
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("pickled objects are never loaded")
    if not dtype.itemsize or dtype.subdtype is not None or min(shape, default=0) < 0:
        raise ValueError(f"{dtype} {shape} is no array")
    begin = file.tell()
    if math.prod(shape) * dtype.itemsize != size - begin:
        raise ValueError(f"{size - begin} bytes are no array of {dtype} {shape}")
    return shape, is_fortran, dtype, begin


def _tree(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return unflattened({name.removesuffix(".npy"): array for name, array in arrays.items()})


def _mapped(path: Path) -> np.ndarray:
    return np.asarray(np.load(path, "r" if path.stat().st_size >= _SMALL_FILE else None, allow_pickle=False))
