"""Closing what nobody closed: at the end of the process, on SIGTERM, and when the last reference goes.

A library does not take over a process. Nothing is installed at import. While a recorder is open, and only if SIGTERM
would otherwise kill the process at once, it raises `SystemExit(143)` in the main thread instead, so that `finally`
blocks, context managers and `atexit` run. A handler that the program itself installed is never touched. A forked child
inherits all of this and uses none of it: it never writes to its parent's files, and SIGTERM kills it as if we were not
there.
"""

import multiprocessing
import multiprocessing.util
import os
import signal
import threading
import warnings
import weakref
from collections.abc import Callable
from types import FrameType
from typing import Final

TERMINATED_STATUS: Final = 143
"""128 + SIGTERM: what a shell reports for a process that SIGTERM killed."""
_WRITER_THREAD: Final = "rlds_kit"
"""How the names of the core's own threads begin."""


class Lifetime:
    """Has `close` run to its end once: when `end` is called, when `owner` is collected, or at exit.

    A collected owner gives a ResourceWarning, for when that happens is left to chance. At exit there is none.

    Args:
      owner: what is being used; `close` must not refer to it.
      close: writes what is left.
      name: of the data, for the warning.
    """

    def __init__(self, owner: object, close: Callable[[], None], name: str) -> None:
        self._pid = os.getpid()
        self._owner = weakref.ref(owner)
        self._close, self._name = close, name
        # At exit, finalizers run newest first, while the threads of the core are still there.
        self._finalizer = weakref.finalize(owner, self._leave)
        if multiprocessing.parent_process() is not None:
            # Such a child ends without `atexit`: it runs only what is registered like this.
            multiprocessing.util.Finalize(None, self._finalizer, exitpriority=0)
        _sigterm.hold(self)

    def end(self) -> None:
        """Closes. Does nothing the second time, or in a forked child.

        If Ctrl-C or SIGTERM breaks it off, the next call, or the end of the process, goes on with it.
        """
        if not self._finalizer.alive or os.getpid() != self._pid:
            return
        try:
            self._close()
        except Exception:
            self._release()
            raise
        self._release()

    def _leave(self) -> None:
        """The owner is gone, or the process ends."""
        if os.getpid() != self._pid:
            return
        collected = self._owner() is None
        if threading.current_thread().name.startswith(_WRITER_THREAD):  # a thread cannot wait for its own end
            threading.Thread(target=self._run, name=f"{_WRITER_THREAD} close").start()
        else:
            self._run()
        if collected:  # last, for a warning may be an error
            warnings.warn(f"{self._name}: was not closed; use `with` or call close()", ResourceWarning, stacklevel=2)

    def _run(self) -> None:
        try:
            self._close()
        finally:
            self._release()

    def _release(self) -> None:
        self._finalizer.detach()
        _sigterm.release(self)


class _Sigterm:
    """Turns SIGTERM into SystemExit while something is open."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()  # a collected owner may release in the middle of `hold`
        self._open: set[int] = set()
        self._installed = False

    def hold(self, holder: object) -> None:
        """Counts a holder in; the first one installs the handler if that is allowed."""
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            self._open.add(id(holder))
            if not self._installed and threading.current_thread() is threading.main_thread():
                self._install()

    def release(self, holder: object) -> None:
        """Counts a holder out; after the last one the default is back, unless somebody else's handler is there."""
        with self._lock:
            self._open.discard(id(holder))
            if not self._open and self._installed and threading.current_thread() is threading.main_thread():
                self._installed = False
                if signal.getsignal(signal.SIGTERM) == self._handle:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)

    def _install(self) -> None:
        if signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, self._handle):
            signal.signal(signal.SIGTERM, self._handle)
            self._installed = True

    def _handle(self, number: int, _: FrameType | None) -> None:
        if self._pid == os.getpid() and self._open:
            raise SystemExit(TERMINATED_STATUS)
        # A forked child, or nothing is open any more: what would have happened without us.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


_sigterm: Final = _Sigterm()
