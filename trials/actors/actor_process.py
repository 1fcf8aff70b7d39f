"""What a process of actors does."""

import asyncio
from collections.abc import Sequence
from typing import Final

from rlds_kit.trials.actors.hosted_actors import HostedActors
from rlds_kit.trials.actors.requests import Answer, Request
from rlds_kit.trials.workers.job import Job


class ActorProcess:
    """The actors of a process, with the event loop of those that are asynchronous."""

    def __init__(self) -> None:
        self._actors, self._runner = HostedActors(), asyncio.Runner()

    def answer(self, wanted: Sequence[tuple[int, Request]], /) -> list[Answer]:
        """Does requests, each with the number of its actor; several that act may act together."""
        return self._runner.run(self._actors.answer(wanted))

    def close(self) -> None:
        """Closes the event loop."""
        self._runner.close()


ACTORS: Final = Job("actor", ActorProcess, is_batched=True)
"""The job of a worker for actors of one implementation."""
