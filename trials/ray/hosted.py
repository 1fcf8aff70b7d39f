"""What a worker does inside an actor of Ray."""

import os
import pickle
from collections.abc import Sequence
from typing import Any

from rlds_kit.trials.workers.job import Job


class Hosted:
    """Answers requests of a job.

    Requests and answers are pickled here, as those of processes are: what comes out of them is a copy of one's own, and
    never an array of shared memory.

    Args:
      job: what to do.
    """

    def __init__(self, job: Job) -> None:
        self._served = job.make()

    def begun(self) -> int:
        """The number of this process, which has begun."""
        return os.getpid()

    def answer(self, wanted: Sequence[bytes]) -> list[bytes]:
        """Does requests, each a pickle of (number of what it is for, request); returns pickles of the answers."""
        answers: Sequence[Any] = self._served.answer([pickle.loads(each) for each in wanted])  # noqa: S301  ours
        return [pickle.dumps(each, pickle.HIGHEST_PROTOCOL) for each in answers]

    def close(self) -> None:
        """Closes what it works for."""
        self._served.close()
