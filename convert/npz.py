"""Reads NPZ files from untrusted sources. Arrays are decompressed when they are needed, in threads.

https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html
"""

import contextlib
import json
import math
import shutil
import threading
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import IO, Any, Final

import numpy as np
from numpy.lib import format as npy

from rlds_kit.base.errors import FormatError
from rlds_kit.convert.decoded_size import require_plausible
from rlds_kit.convert.nest_of_paths import unflattened

_NAMES: Final = "names.json"
_SMALL_FILE: Final = 1 << 16
"""Bytes of arrays that are read rather than mapped: empty ones cannot be mapped."""
_COPIED_BYTES: Final = 1 << 20
_BROKEN: Final = (
    *(ValueError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError, TypeError),
)
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
        arrays = _Arrays(path)
        for member in members:
            with archive.open(member) as file:
                arrays.members.append(_Member(arrays, member, *_header(file, member.file_size)))
        return _tree({each.info.filename: each for each in arrays.members})


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
                shutil.copyfileobj(packed, file, _COPIED_BYTES)

        _in_threads(extract, range(len(members)), lambda number: members[number].file_size)
    (directory / _NAMES).write_text(json.dumps([member.filename for member in members]), "utf-8")


def map_extracted(directory: Path) -> dict[str, Any]:
    """Maps the arrays that `extract_npz` has written into memory."""
    names = json.loads((directory / _NAMES).read_text("utf-8"))
    return _tree({name: _mapped(directory / f"{number}.npy") for number, name in enumerate(names)})


class _Arrays:
    """All arrays of a file, which threads decompress."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.members: list[_Member] = []
        self.changed = threading.Condition()
        """Notified when more bytes of an array are there, or an error has happened."""

    def read(self, wanted: "Sequence[_Member]") -> None:
        """Starts to decompress those of some arrays for which this was not done yet."""
        fresh = [member for member in wanted if member.array is None]
        for member in sorted(fresh, key=lambda each: each.info.file_size):
            member.allocate()
            # A daemon: after an error the program can end at once. Nothing but memory is written.
            threading.Thread(target=member.decompress, name="rlds_kit-npz", daemon=True).start()


class _Member:
    """An array that is decompressed when values are requested: alone for `[()]`, with all others for some rows.

    Rows are returned as soon as they are decompressed, so that those before them are converted meanwhile. The last
    bytes come after the checksum of all was compared.
    """

    def __init__(
        self,
        arrays: _Arrays,
        info: zipfile.ZipInfo,
        shape: tuple[int, ...],
        is_fortran: bool,
        dtype: np.dtype[Any],
        begin: int,
    ) -> None:
        self.info, self.shape, self.dtype = info, shape, dtype
        self.ndim, self.size = len(shape), math.prod(shape)
        self.array: np.ndarray | None = None
        self._arrays, self._is_fortran, self._begin = arrays, is_fortran, begin
        self._memory = np.empty(0, np.uint8)
        self._done = 0
        self._error: Exception | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        if self.array is None:
            self._arrays.read([self] if isinstance(key, tuple) and not key else self._arrays.members)
        assert self.array is not None  # noqa: S101  `read` has set it
        self._wait(self._needed(key))
        return self.array[key]

    def allocate(self) -> None:
        """Makes the array, which has anything in it."""
        self._memory = np.empty(self.size * self.dtype.itemsize, np.uint8)
        values = self._memory.view(self.dtype) if self.size else np.empty(0, self.dtype)
        self.array = values.reshape(self.shape, order="F" if self._is_fortran else "C")

    def decompress(self) -> None:
        """Decompresses the array, piece by piece; an error is raised by those who wait."""
        try:
            with _opened(self._arrays.path) as archive, archive.open(self.info) as file:
                # Not parsed again: a thread's `ast.literal_eval` may fail as Python 3.11 parses in another.
                # https://github.com/python/cpython/issues/106905
                file.read(self._begin)
                while self._done < len(self._memory):
                    piece = np.frombuffer(file.read(_COPIED_BYTES), np.uint8)
                    if not len(piece):
                        raise ValueError(f"{self.info.filename} ends after {self._done} of {len(self._memory)} bytes")
                    end = self._done + len(piece)
                    self._memory[self._done : end] = piece
                    if end == len(self._memory) and file.read(1):  # at the end, the checksum is compared
                        raise ValueError(f"{self.info.filename} has more than {end} bytes")
                    self._notify(end)
        except Exception as error:  # noqa: BLE001  raised by `_wait`
            self._notify(self._done, error)

    def _notify(self, done: int, error: Exception | None = None) -> None:
        with self._arrays.changed:
            self._done, self._error = done, error
            self._arrays.changed.notify_all()

    def _wait(self, needed: int) -> None:
        """Returns when so many bytes are there.

        Raises:
          FormatError: the array is damaged.
        """
        with self._arrays.changed:
            self._arrays.changed.wait_for(lambda: self._done >= needed or self._error is not None)
        if self._error is not None:
            raise self._error

    def _needed(self, key: Any) -> int:
        """The bytes up to the last that a key selects, or all."""
        if self._is_fortran or not isinstance(key, slice) or not self.size:
            return len(self._memory)
        _, stop, step = key.indices(len(self))
        return (stop if step > 0 else len(self)) * (len(self._memory) // len(self))


def _in_threads(do: Callable[[Any], None], items: Sequence[Any], size: Callable[[Any], int]) -> None:
    """Does something for each item in threads, the largest first. zlib works without the interpreter's lock."""
    with ThreadPoolExecutor() as pool:
        for _ in pool.map(do, sorted(items, key=size, reverse=True)):
            pass


@contextlib.contextmanager
def _opened(path: Path) -> Iterator[zipfile.ZipFile]:
    try:
        with zipfile.ZipFile(path) as archive:
            yield archive
    except FormatError:
        raise
    except _BROKEN as error:
        raise FormatError(f"{path}: expected an NPZ file of arrays without pickled objects: {error}") from error


def _header(file: IO[bytes], size: int) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    """Reads shape, order, dtype and first byte of an array, which are checked against the `size` bytes of all."""
    version = npy.read_magic(file)
    if version not in _HEADERS:
        raise ValueError(f"version {version} of NumPy's format")
    shape, is_fortran, dtype = _HEADERS[version](file)
    if dtype.hasobject:
        raise ValueError("pickled objects are never loaded")
    begin = file.tell()
    if math.prod(shape) * dtype.itemsize != size - begin:
        raise ValueError(f"{size - begin} bytes are no array of {dtype} {shape}")
    return shape, is_fortran, dtype, begin


def _tree(arrays: Mapping[str, Any]) -> dict[str, Any]:
    return unflattened({name.removesuffix(".npy"): array for name, array in arrays.items()})


def _mapped(path: Path) -> np.ndarray:
    return np.asarray(np.load(path, "r" if path.stat().st_size >= _SMALL_FILE else None, allow_pickle=False))
