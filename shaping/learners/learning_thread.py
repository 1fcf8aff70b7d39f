"""Learns in a separate thread, so that a game never waits for it."""

import queue
import threading
from collections.abc import Callable
from typing import Final

Task = Callable[[], None]
_OVER: Final = None


class LearningThread:
    """Executes tasks in order, while the caller continues.

    >>> done = []
    >>> thread = LearningThread()
    >>> thread.put(lambda: done.append(1))
    >>> thread.close()
    >>> done
    [1]
    """

    def __init__(self) -> None:
        self._tasks: queue.Queue[Task | None] = queue.Queue()
        self._error: Exception | None = None
        self._thread = threading.Thread(target=self._work, name="rlds_kit-learning", daemon=True)
        self._thread.start()

    def put(self, task: Task) -> None:
        """Queues a task.

        Raises:
          RuntimeError: an earlier task failed.
        """
        self._require_no_error()
        self._tasks.put(task)

    def wait(self) -> None:
        """Returns when all tasks are done; errors as for `put`."""
        self._tasks.join()
        self._require_no_error()

    def close(self) -> None:
        """Returns when all tasks are done and the thread has ended; errors as for `put`. May be called again."""
        self.release()
        self._thread.join()
        self._require_no_error()

    def release(self) -> None:
        """Makes the thread end after all queued tasks, without waiting for it."""
        self._tasks.put(_OVER)

    def _require_no_error(self) -> None:
        if self._error is not None:
            raise RuntimeError(f"learning failed: {type(self._error).__name__}: {self._error}") from self._error

    def _work(self) -> None:
        while (task := self._tasks.get()) is not _OVER:
            try:
                if self._error is None:
                    task()
            except Exception as error:  # noqa: BLE001  models may raise any error; the next call raises it
                self._error = error
            finally:
                self._tasks.task_done()
