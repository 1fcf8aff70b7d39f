"""Arrays of NPZ files that threads decompress while their first rows are in use."""

import contextlib
import math
import threading
import tokenize
import weakref
import zipfile
import zlib
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, Any, Final

import numpy as np

from rlds_kit.base.errors import FormatError
from rlds_kit.storage.reusable_memory import ReusableMemory, field_memory

COPIED_BYTES: Final = 1 << 20
_THREADS: Final = 4
"""That decompress: as many as there usually are large arrays of which each row has a value."""
_WHOLE_BYTES: Final = 256 << 20
"""Arrays up to this size are in memory as a whole; of larger ones in C's order, whose rows are requested, only those
near the last requested rows."""
_PIECE_BYTES: Final = 16 << 20
_AHEAD_BYTES: Final = 128 << 20
"""Bytes of an array that are decompressed before they are requested."""
_KEPT_BYTES: Final = 64 << 20
"""Bytes of a large array that are kept before the last requested rows, as an episode may be requested again."""
_piece_memory: Final = ReusableMemory(_KEPT_BYTES, _PIECE_BYTES // 2)
"""For pieces, which have one size: other sizes would take their memory, and the system clears what replaces it."""
_BROKEN: Final = (
    *(ValueError, OSError, EOFError, KeyError, RuntimeError, NotImplementedError, MemoryError),
    *(zipfile.BadZipFile, zlib.error, tokenize.TokenError, SyntaxError, TypeError),
)


class Arrays:
    """The arrays of a file, and the threads that decompress them.

    Attributes:
      path: of the file.
      members: the arrays that are in use.
      changed: notified when more bytes of an array are there, or an error has happened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.members: weakref.WeakSet[NpzArray] = weakref.WeakSet()  # they refer to this
        self.changed = threading.Condition()
        self._waiting: deque[NpzArray] = deque()
        self._threads = 0
        self._files: list[IO[bytes]] = []
        weakref.finalize(self, _close_all, self._files)

    def start(self, wanted: "Iterable[NpzArray]") -> None:
        """Starts to decompress those of some arrays for which this was not done yet, small ones first.

        Raises:
          FormatError: the file is damaged, or there is no memory for them.
          RuntimeError: no thread can be started.
        """
        fresh = sorted([each for each in wanted if not each.is_started], key=lambda each: each.info.file_size)
        if fresh:
            self.open(fresh)
            for each in fresh:
                each.request(0)

    def open(self, wanted: "Iterable[NpzArray]") -> None:
        """Opens the file for each of some arrays; it is closed when all of them are read."""
        with as_format_errors(self.path), zipfile.ZipFile(self.path) as archive:
            for each in wanted:
                self._files.append(archive.open(each.info))
                each.begin(self._files[-1])

    def run(self, array: "NpzArray") -> None:
        """Lets a thread decompress an array. `changed` is locked.

        Raises:
          RuntimeError: no thread can be started.
        """
        self._waiting.append(array)
        if self._threads >= _THREADS:
            return
        self._threads += 1
        try:
            # Daemons: after an error the program can end at once. They only write into memory, so no file is damaged.
            threading.Thread(target=self._work, name="rlds_kit-npz", daemon=True).start()
        except BaseException as error:
            self._threads -= 1  # if Ctrl-C came after the start, the thread counts down again: one more may start
            if self._threads <= 0 or not isinstance(error, RuntimeError):  # else one thread does the work of all
                self._waiting.remove(array)
                raise

    def _work(self) -> None:
        """Decompresses arrays until none waits."""
        while True:
            with self.changed:
                if not self._waiting:
                    self._threads -= 1
                    return
                array = self._waiting.popleft()
            array.decompress()


class NpzArray:
    """An array that is decompressed when values are requested.

    `[()]` decompresses it alone, as for flags and metadata; rows are read of all arrays together, so their first use
    starts all of them. Rows are returned as soon as they are decompressed, so that they are converted while later ones
    are decompressed. That is before the checksum of the array is known: only the last bytes come after it, and who
    reads to the end learns of damage.

    Large arrays are read from the first row to the last, by one thread alone. Rows before those that are kept are
    decompressed again, from the first one on, and then more are kept.
    """

    def __init__(
        self,
        arrays: Arrays,
        info: zipfile.ZipInfo,
        shape: tuple[int, ...],
        is_fortran: bool,
        dtype: np.dtype[Any],
        header_bytes: int,
    ) -> None:
        self.info, self.shape, self.dtype = info, shape, dtype
        self.ndim, self.size = len(shape), math.prod(shape)
        self.is_started = False
        self._arrays, self._is_fortran, self._header_bytes = arrays, is_fortran, header_bytes
        self._bytes = self.size * dtype.itemsize
        self._is_whole = self._bytes <= _WHOLE_BYTES or is_fortran or not shape
        self._row_bytes = self._bytes if not shape or not self.size else self._bytes // shape[0]
        self._pieces: deque[_Piece] = deque()
        self._kept = _KEPT_BYTES
        self._file: IO[bytes] | None = None
        self._done = self._wanted = self._least = 0
        self._is_running = False
        self._error: Exception | None = None

    def __len__(self) -> int:
        return self.shape[0]

    def __getitem__(self, key: Any) -> Any:
        self._is_whole |= not isinstance(key, slice) and not self.is_started
        self._arrays.start([self] if isinstance(key, tuple) and not key else self._arrays.members)
        if not self.ndim or not self.size or not isinstance(key, slice):
            return self._between(0, self._bytes).reshape(self.shape, order="F" if self._is_fortran else "C")[key]
        rows = range(len(self))[key]
        if not rows:
            return np.empty((0, *self.shape[1:]), self.dtype)
        if self._is_fortran:
            return self._between(0, self._bytes).reshape(self.shape, order="F")[key]
        low, high = min(rows), max(rows) + 1
        found = self._between(low * self._row_bytes, high * self._row_bytes)
        return found.reshape(high - low, *self.shape[1:])[:: rows.step]

    def begin(self, file: IO[bytes]) -> None:
        """Sets the file to decompress."""
        self._file = file
        # Not parsed again: a thread's `ast.literal_eval` may fail as Python 3.11 parses in another.
        # https://github.com/python/cpython/issues/106905
        file.read(self._header_bytes)
        if self._is_whole:
            self._pieces.append(_Piece(0, np.empty(self._bytes, np.uint8)))
        if not self._bytes:
            self._close()
        self.is_started = True

    def request(self, end: int) -> None:
        """Lets a thread decompress the bytes up to an end, and some more.

        Raises:
          RuntimeError: no thread can be started.
        """
        with self._arrays.changed:
            self._wanted = min(max(self._wanted, end + _AHEAD_BYTES), self._bytes)
            if self._is_running or self._done >= self._wanted or self._error is not None:
                return
            self._is_running = True
            try:
                self._arrays.run(self)
            except BaseException:
                self._is_running = False
                raise

    def decompress(self) -> None:
        """Decompresses the array, piece by piece, up to the end that was requested."""
        try:
            with as_format_errors(self._arrays.path):
                while self._goes_on():
                    self._decompress_some()
        except Exception as error:  # noqa: BLE001  raised where values are requested
            self._close()
            self.notify(0, error)

    def notify(self, more: int, error: Exception | None = None) -> None:
        """Counts more bytes that are there, or passes an error to those who wait."""
        with self._arrays.changed:
            self._done, self._error = self._done + more, error
            self._is_running &= error is None
            self._arrays.changed.notify_all()

    def _goes_on(self) -> bool:
        with self._arrays.changed:
            self._is_running = self._done < self._wanted
            self._arrays.changed.notify_all()
            return self._is_running

    def _decompress_some(self) -> None:
        assert self._file is not None  # noqa: S101  `start` has opened it
        if not self._pieces or self._pieces[-1].end == self._done:
            self._add_piece()
        piece = self._pieces[-1]
        some = np.frombuffer(self._file.read(min(COPIED_BYTES, piece.end - self._done)), np.uint8)
        if not len(some):
            raise ValueError(f"{self.info.filename} ends after {self._done} of {self._bytes} bytes")
        end = self._done + len(some)
        piece.memory[self._done - piece.begin : end - piece.begin] = some
        if end == self._bytes:  # its checksum was compared
            self._close()
        self.notify(len(some))

    def _add_piece(self) -> None:
        """Makes room for more bytes, in place of those that are not kept."""
        size = min(max(1, _PIECE_BYTES // self._row_bytes) * self._row_bytes, self._bytes - self._done)
        piece = _Piece(self._done, _piece_memory.empty((size,), np.dtype(np.uint8)))
        with self._arrays.changed:
            while self._pieces and self._pieces[0].end <= self._least:
                self._pieces.popleft()
            self._pieces.append(piece)

    def _close(self) -> None:
        """Closes the file, which those of the other arrays share."""
        with self._arrays.changed:
            if self._file is not None:
                self._file.close()

    def _between(self, begin: int, end: int) -> np.ndarray:
        """Some elements, `[n]`.

        Raises:
          FormatError: the array is damaged.
        """
        changed = self._arrays.changed
        with changed:
            if self._error is not None:
                raise self._error
            if self._pieces and begin < self._pieces[0].begin:
                self._start_again(begin)
            self._least = begin - self._kept
            try:
                self.request(end)
                changed.wait_for(lambda: self._done >= end or self._error is not None)
            except BaseException:  # Ctrl-C
                self._wanted = 0
                raise
            if self._error is not None:
                raise self._error
            parts = [each.between(begin, end) for each in self._pieces if each.begin < end and begin < each.end]
        if len(parts) == 1:
            return parts[0].view(self.dtype)
        return field_memory.concatenate([np.empty(0, np.uint8), *parts]).view(self.dtype)

    def _start_again(self, begin: int) -> None:
        """Decompresses the array from its first byte on, and will keep more of it, unless all is requested again."""
        self._wanted = 0
        self._arrays.changed.wait_for(lambda: not self._is_running)
        self.is_started = False
        self._close()
        self._pieces.clear()
        self._done, self._kept = 0, self._kept * (2 if begin else 1)
        self._arrays.open([self])


class _Piece:
    """Consecutive bytes of an array, from `begin` up to `end`; the last ones may not be there yet."""

    def __init__(self, begin: int, memory: np.ndarray) -> None:
        self.begin, self.end, self.memory = begin, begin + len(memory), memory

    def between(self, begin: int, end: int) -> np.ndarray:
        """Those of its bytes that are between two bytes of the array."""
        return self.memory[max(0, begin - self.begin) : end - self.begin]


def _close_all(files: Sequence[IO[bytes]]) -> None:
    for each in files:
        each.close()


@contextlib.contextmanager
def as_format_errors(path: Path) -> Iterator[None]:
    """A context in which errors of a damaged file become `FormatError`."""
    try:
        yield
    except FormatError:
        raise
    except _BROKEN as error:
        raise FormatError(f"{path}: expected an NPZ file of arrays without pickled objects: {error}") from error
