"""What a worker does."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol


class Served(Protocol):
    """What answers requests, inside a worker."""

    def answer(self, wanted: Sequence[tuple[int, Any]], /) -> Sequence[Any]:
        """Does requests, each with the number of what it is for; returns the answers in their order."""

    def close(self) -> None:
        """The worker ends."""


@dataclass(frozen=True, slots=True)
class Job:
    """What a worker does; it travels to other processes.

    Attributes:
      what: the worker is for, in errors.
      make: what answers requests; called in the worker.
      is_batched: whether requests that came while others were answered are answered together.
    """

    what: str
    make: Callable[[], Served]
    is_batched: bool = False
