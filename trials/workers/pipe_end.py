"""An end of a pipe of `multiprocessing` in an event loop, which never waits for the process at the other end.

The process uses `Connection.send` and `Connection.recv`: each object is the length of its pickle, and the pickle.
"""

import asyncio
import contextlib
import os
import struct
import threading
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from multiprocessing.reduction import ForkingPickler
from typing import Any, Final, Protocol

_LENGTH: Final = struct.Struct("!i")
_LONG_LENGTH: Final = struct.Struct("!Q")
"""Follows a length of -1: of pickles of 2 GiB and more."""
_MOST_LENGTH: Final = 0x7FFFFFFF
_MOST_BYTES: Final = 1 << 18
"""That are read at once."""


class PipeEnd(Protocol):
    """An end of a pipe."""

    def send(self, what: Any) -> None:
        """Sends an object.

        Raises:
          OSError: the process is gone.
        """

    async def drain(self) -> None:
        """The process has ended: receives what is still on the way, and reads no more."""


def pipe_end(pipe: "Connection[Any, Any]", received: Callable[[Any], None], ended: Callable[[], None]) -> PipeEnd:
    """Begins to read from a pipe.

    Args:
      pipe: that nothing else uses.
      received: called in the event loop with each object that comes.
      ended: called in the event loop when nothing more comes.
    """
    try:
        return WatchedPipe(pipe, received, ended)
    except NotImplementedError:  # as on Windows
        return ReadPipe(pipe, received, ended)


class WatchedPipe:
    """A pipe that the event loop watches: an object takes one system call, and no other thread.

    Arguments are those of `pipe_end`.

    Raises:
      NotImplementedError: the event loop cannot.
    """

    def __init__(
        self, pipe: "Connection[Any, Any]", received: Callable[[Any], None], ended: Callable[[], None]
    ) -> None:
        self._pipe, self._received, self._ended = pipe, received, ended
        self._in, self._out = bytearray(), bytearray()
        self._loop, self._file = asyncio.get_running_loop(), pipe.fileno()
        self._loop.add_reader(self._file, self._read)
        os.set_blocking(self._file, False)

    def send(self, what: Any) -> None:
        """Sends an object, or what fits; the rest follows when the process reads."""
        is_waiting = bool(self._out)
        self._out += _framed(ForkingPickler.dumps(what))
        if not is_waiting:
            self._write()
            if self._out:
                self._loop.add_writer(self._file, self._write_on)

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._out:
                del self._out[: os.write(self._file, self._out)]

    def _write_on(self) -> None:
        try:
            self._write()
        except OSError:  # the process is gone, which `_read` notices
            self._out.clear()
        if not self._out:
            self._loop.remove_writer(self._file)

    def _read(self) -> None:
        if not self._take():
            self._stop()
            self._ended()

    def _take(self) -> bool:
        """Receives what has come; returns whether there may be more."""
        try:
            data = os.read(self._file, _MOST_BYTES)
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._in += data
        for each in _objects(self._in):
            self._received(each)
        return bool(data)

    def _stop(self) -> None:
        self._loop.remove_reader(self._file)
        self._loop.remove_writer(self._file)

    async def drain(self) -> None:
        """Receives what is still on the way."""
        self._stop()
        while self._pipe.poll() and self._take():
            pass


def _framed(data: memoryview) -> bytes:
    size = len(data)
    head = _LENGTH.pack(size) if size <= _MOST_LENGTH else _LENGTH.pack(-1) + _LONG_LENGTH.pack(size)
    return head + data


def _objects(data: bytearray) -> Iterator[Any]:
    """Takes the objects that have come as a whole."""
    while (piece := _first(data)) is not None:
        pickled = bytes(memoryview(data)[piece])
        del data[: piece.stop]
        yield ForkingPickler.loads(pickled)


def _first(data: bytearray) -> slice | None:
    """Where the first pickle is; None: not all of it has come."""
    begin = _LENGTH.size
    if len(data) < begin:
        return None
    (length,) = _LENGTH.unpack_from(data)
    if length < 0:
        begin += _LONG_LENGTH.size
        if len(data) < begin:
            return None
        (length,) = _LONG_LENGTH.unpack_from(data, _LENGTH.size)
    return slice(begin, begin + length) if len(data) >= begin + length else None


class ReadPipe:
    """A pipe that a thread reads, where event loops cannot watch it. Arguments are those of `pipe_end`."""

    def __init__(
        self, pipe: "Connection[Any, Any]", received: Callable[[Any], None], ended: Callable[[], None]
    ) -> None:
        self._pipe, self._received, self._ended = pipe, received, ended
        self._loop = asyncio.get_running_loop()
        self._thread = threading.Thread(target=self._read, name="rlds_kit-answers", daemon=True)
        self._thread.start()

    def send(self, what: Any) -> None:
        """Sends an object; waits until the process reads, where it is large."""
        self._pipe.send(what)

    def _read(self) -> None:
        with contextlib.suppress(EOFError, OSError):
            while True:
                self._call_soon(self._received, self._pipe.recv())
        self._call_soon(self._ended)

    def _call_soon(self, function: Callable[..., None], *arguments: Any) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            self._loop.call_soon_threadsafe(function, *arguments)

    async def drain(self) -> None:
        """Receives what is still on the way."""
        await asyncio.to_thread(self._thread.join)
