"""Closes recorders that were not closed: at the end of the process, on SIGTERM, and after the last reference is gone.

A library must not take control of a process. Nothing is installed at import. While a recorder is open, and only if
SIGTERM would otherwise kill the process immediately, it raises `SystemExit(143)` in the main thread instead, so that
`finally` blocks, context managers and `atexit` run. A handler of the program itself is never replaced. A forked child
inherits this state but does not use it: it never writes to its parent's files, and SIGTERM kills it in the default way.
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
"""Prefix of the names of the core's threads."""


class Lifetime:
    """Calls `close` until it succeeds once: when `end` is called, when `owner` is garbage-collected, or at exit.

    A collected owner issues a ResourceWarning, because the time of collection is not defined. At exit there is none.

    Args:
      owner: the object in use; `close` must not have a reference to it.
      close: writes the remaining data.
      name: of the data, for the warning.
    """

    def __init__(self, owner: object, close: Callable[[], None], name: str) -> None:
        self._pid = os.getpid()
        self._owner = weakref.ref(owner)
        self._close, self._name = close, name
        # At exit, finalizers run newest first, while the threads of the core still run.
        self._finalizer = weakref.finalize(owner, self._leave)
        if multiprocessing.parent_process() is not None:
            # A child of multiprocessing ends without `atexit`: it runs only finalizers that are registered here.
            multiprocessing.util.Finalize(None, self._finalizer, exitpriority=0)
        _sigterm.acquire(self)

    def end(self) -> None:
        """Closes. Does nothing after the first success, or in a forked child.

        If Ctrl-C or SIGTERM interrupts it, the next call, or the end of the process, continues.
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
        """Called when the owner is collected, or the process ends."""
        if os.getpid() != self._pid:
            return
        collected = self._owner() is None
        if threading.current_thread().name.startswith(_WRITER_THREAD):  # a thread cannot wait for its own end
            threading.Thread(target=self._run, name=f"{_WRITER_THREAD} close").start()
        else:
            self._run()
        if collected:  # last, because a warning may be raised as an error
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
    """Converts SIGTERM to SystemExit while a recorder is open."""

    def __init__(self) -> None:
        self._reset()

    def _reset(self) -> None:
        self._pid = os.getpid()
        self._lock = threading.RLock()  # reentrant: a collected owner may call `release` during `acquire`
        self._open: set[int] = set()
        self._installed = False

    def acquire(self, user: object) -> None:
        """Adds a user; the first one installs the handler if that is allowed."""
        if self._pid != os.getpid():
            self._reset()
        with self._lock:
            self._open.add(id(user))
            if not self._installed and threading.current_thread() is threading.main_thread():
                self._install()

    def release(self, user: object) -> None:
        """Removes a user; the last one restores the default, unless another handler was installed."""
        with self._lock:
            self._open.discard(id(user))
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
        # In a forked child, or if nothing is open any more: the default behaviour.
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)


_sigterm: Final = _Sigterm()
