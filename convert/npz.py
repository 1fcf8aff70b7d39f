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
from collections import deque
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
_THREADS: Final = 4
"""That decompress: as many as there usually are large arrays of which each row has a value."""
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
        self._path = path
        self.members: list[_Member] = []
        self.changed = threading.Condition()
        """Notified when more bytes of an array are there, or an error has happened."""

    def start(self, wanted: "Sequence[_Member]") -> None:
        """Starts to decompress those of some arrays for which this was not done yet, small ones first.

        Raises:
          FormatError: there is no memory for them.
        """
        fresh = sorted([each for each in wanted if each.array is None], key=lambda each: each.info.file_size)
        with _as_format_errors(self._path):
            arrays = [each.allocate() for each in fresh]
        left = deque(fresh)
        # Daemons: after an error the program can end at once. They only write into memory: no file is left half done.
        threads = [
            threading.Thread(target=self._run, args=(left,), name="rlds_kit-npz", daemon=True) for _ in fresh[:_THREADS]
        ]
        for member, array in zip(fresh, arrays, strict=True):
            member.array = array
        try:
            for thread in threads:
                thread.start()
        except BaseException as error:
            is_started = threads[0].ident is not None
            if not is_started:
                for member in fresh:
                    member.array = None
            if not is_started or not isinstance(error, RuntimeError):  # one thread does the work of all
                raise

    def _run(self, left: "deque[_Member]") -> None:
        """Decompresses arrays that no other thread has begun."""
        archive: zipfile.ZipFile | None = None
        while True:
            try:
                member = left.popleft()
            except IndexError:
                break
            try:
                with _as_format_errors(self._path):
                    archive = archive or zipfile.ZipFile(self._path)
                    member.decompress(archive)
            except Exception as error:  # noqa: BLE001  raised where values are requested
                member.notify(0, error)
        if archive is not None:
            archive.close()


class _Member:
    """An array that is decompressed when values are requested.

    `[()]` decompresses it alone, as for flags and metadata; rows are read of all arrays together, so their first use
    starts all of them. Rows are returned as soon as they are decompressed, so that they are converted while later ones
    are decompressed. That is before the checksum of the array is known: only the last bytes come after it, and who
    reads to the end learns of damage.
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
            self._arrays.start([self] if isinstance(key, tuple) and not key else self._arrays.members)
        assert self.array is not None  # noqa: S101  `start` has set it
        self._wait(self._needed(key))
        return self.array[key]

    def allocate(self) -> np.ndarray:
        """Makes the array, whose values are not set yet."""
        self._memory = np.empty(self.size * self.dtype.itemsize, np.uint8)
        values = self._memory.view(self.dtype) if self.size else np.empty(0, self.dtype)
        return values.reshape(self.shape, order="F" if self._is_fortran else "C")

    def decompress(self, archive: zipfile.ZipFile) -> None:
        """Decompresses the array, piece by piece."""
        with archive.open(self.info) as file:
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
                self.notify(len(piece))

    def notify(self, more: int, error: Exception | None = None) -> None:
        """Counts more bytes that are there, or passes an error to those who wait."""
        with self._arrays.changed:
            self._done, self._error = self._done + more, error
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
    with _as_format_errors(path), zipfile.ZipFile(path) as archive:
        yield archive


@contextlib.contextmanager
def _as_format_errors(path: Path) -> Iterator[None]:
    try:
        yield
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
