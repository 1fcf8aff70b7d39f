"""Lets a loop continue after errors."""

from types import TracebackType
from typing import Self


class FirstError:
    """Collects the errors of several `with` statements, and raises the first one when all is done.

    The first one is that of the environment with the lowest number, in whichever order they are recorded.

    >>> errors = FirstError()
    >>> for value in (1, 0, 2):
    ...     with errors:
    ...         print(2 / value)
    2.0
    1.0
    >>> errors.raise_it()
    Traceback (most recent call last):
    ZeroDivisionError: division by zero
    """

    def __init__(self) -> None:
        self._error: Exception | None = None
        self._index = self._first = 0

    def of(self, index: int) -> Self:
        """Names the environment whose errors the next `with` statement collects."""
        self._index = index
        return self

    def __enter__(self) -> None:
        pass

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool:
        if not isinstance(error, Exception):
            return False
        if self._error is None or self._index < self._first:
            self._error, self._first = error, self._index
        return True

    def raise_it(self) -> None:
        """Raises the first error, if there is one."""
        if self._error is not None:
            raise self._error
