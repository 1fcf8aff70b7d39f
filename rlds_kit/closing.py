"""The base classes of objects that a `with` statement closes."""

import abc
from types import TracebackType
from typing import Self


class Closing(abc.ABC):
    """What is used as a context manager: leaving the `with` block calls `close`, also after an exception."""

    @abc.abstractmethod
    def close(self) -> None:
        """Releases what is open."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


class AsyncClosing(abc.ABC):
    """As `Closing`, for `async with`."""

    @abc.abstractmethod
    async def close(self) -> None:
        """Releases what is open."""

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        await self.close()
