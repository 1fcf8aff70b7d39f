"""Reads NPZ files from untrusted sources, and shares their arrays between processes.

https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

import functools
import json
import math
import tokenize
import zipfile
import zlib
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.decoded_size import require_plausible

_NAMES: Final = "names.json"
_SMALL_FILE: Final = 1 << 16
"""Bytes of arrays that are read rather than mapped: empty ones cannot be mapped."""
_BROKEN: Final = (
    *(ValueError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError, TypeError),
)
_HEADERS: Final = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(path: Path) -> dict[str, Any]:
    """Reads all arrays of an NPZ file; slashes in their names separate groups.

    Raises:
      FormatError: it is not such a file, it is damaged, or it has pickled objects.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            return _arrays(archive, path)
    except _BROKEN as error:
        raise FormatError(f"{path}: expected an NPZ file of arrays without pickled objects: {error}") from error


def save_arrays(tree: Mapping[str, Any], directory: Path) -> None:
    """Writes arrays as files without compression; numbers are their names, which may be any text."""
    directory.mkdir()
    for number, node in enumerate(tree.values()):
        if isinstance(node, dict):
            save_arrays(node, directory / str(number))
        else:
            np.save(directory / f"{number}.npy", node, allow_pickle=False)
    (directory / _NAMES).write_text(json.dumps(list(tree)), "utf-8")


def map_arrays(directory: Path) -> dict[str, Any]:
    """Maps the arrays that `save_arrays` has written into memory."""
    found: dict[str, Any] = {}
    for number, name in enumerate(json.loads((directory / _NAMES).read_text("utf-8"))):
        path = directory / f"{number}.npy"
        found[name] = _mapped(path) if path.exists() else map_arrays(directory / str(number))
    return found


def _mapped(path: Path) -> np.ndarray:
    return np.asarray(np.load(path, "r" if path.stat().st_size >= _SMALL_FILE else None, allow_pickle=False))


def _arrays(archive: zipfile.ZipFile, path: Path) -> dict[str, Any]:
    members = archive.infolist()
    require_plausible(sum(member.file_size for member in members), path.stat().st_size, str(path))
    tree: dict[str, Any] = {}
    with ThreadPoolExecutor() as pool:  # zlib works without Python's lock
        arrays = list(pool.map(functools.partial(_member, archive), members))
    for member, array in zip(members, arrays, strict=True):
        *groups, own = member.filename.removesuffix(".npy").split("/")
        inner = tree
        for group in groups:
            inner = inner.setdefault(group, {})
            if not isinstance(inner, dict):
                raise FormatError(f"{path}: {member.filename}: expected a group, but {group} is an array")
        inner[own] = array
    return tree


def _member(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    with archive.open(member) as file:
        return _array(file, member.file_size)


def _array(file: IO[bytes], size: int) -> np.ndarray:
    """An array of NumPy's format. The header is checked against the available bytes before it is used."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of NumPy's format")
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("pickled objects are never loaded")
    if math.prod(shape) * dtype.itemsize != size - file.tell():
        raise ValueError(f"{size - file.tell()} bytes are no array of {dtype} {shape}")
    return np.frombuffer(file.read(), dtype).reshape(shape, order="F" if is_fortran else "C")
