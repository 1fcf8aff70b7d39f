"""A source whose reading ends in trouble, in whichever process it is read."""

import os
import signal
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from rlds_kit import EpisodeEnd
from rlds_kit import spec as specs
from rlds_kit.base.errors import FormatError, UnsupportedTypeError
from rlds_kit.convert.protocol import ForeignEpisode, Loss
from rlds_kit.convert.rows import Rows

EPISODES = 12
BYTES = 100
"""Of an episode."""


class TroubledReader:
    """Episodes of seven steps, without files; what happens at episode 9 can be chosen."""

    unit = "episodes"

    def __init__(self, trouble: Literal["", "kill", "error", "type", "full"] = "") -> None:
        self._trouble = trouble
        self.about: Mapping[str, str] = {}
        self.spec = specs.Dict({})
        self.metadata: Mapping[str, Any] = {}
        self.environment: Mapping[str, Any] = {}
        self.size = EPISODES * BYTES
        self.lossy: Mapping[str, str] = {}
        self.losses: list[Loss] = []

    def __len__(self) -> int:
        return EPISODES

    def __iter__(self) -> Iterator[ForeignEpisode]:
        return self.read(0, EPISODES)

    def weigh(self, _tell: Callable[[int], None]) -> Sequence[int]:
        return [BYTES] * EPISODES

    def read(self, begin: int, end: int) -> Iterator[ForeignEpisode]:
        for number in range(begin, end):
            if number == 9:
                self._make_trouble()
            observations = np.full((7, 2), number, np.float32)
            yield ForeignEpisode(
                Rows({"observation": observations}, 7),
                Rows({"action": np.arange(6)}, 6),
                EpisodeEnd.TRUNCATED,
                truncated=True,
                metadata={"number": number},
            )

    def _make_trouble(self) -> None:
        match self._trouble:
            case "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            case "error":
                raise FormatError("episode 9 is broken")
            case "type":
                raise UnsupportedTypeError("observation", object())
            case "full":
                raise OSError(28, "No space left on device")
