"""Policies: functions from the console's memory to an action."""

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ram: TypeAlias = npt.NDArray[np.uint8]
"""The 128 bytes of memory of an Atari 2600."""

Act: TypeAlias = Callable[[Ram], int]
"""Takes the memory, returns the number of an action. Serves one episode, and may remember what it saw."""

Policy: TypeAlias = Callable[[int, np.random.Generator], Act]
"""Takes how many actions there are and a source of chance, returns what plays one episode."""

STICKINESS = 0.9
"""How likely the sticky policy is to repeat itself."""


def random(actions: int, rng: np.random.Generator) -> Act:
    """Plays every action with equal chance.

    >>> act = random(4, np.random.default_rng(0))
    >>> [act(np.zeros(128, np.uint8)) for _ in range(5)]
    [3, 2, 2, 1, 1]
    """
    return lambda _: int(rng.integers(actions))


def sticky(actions: int, rng: np.random.Generator) -> Act:
    """Repeats an action ten times on average before the next random one, which explores more than `random`.

    >>> act = sticky(18, np.random.default_rng(0))
    >>> [act(np.zeros(128, np.uint8)) for _ in range(5)]
    [15, 15, 15, 15, 11]
    """
    action = int(rng.integers(actions))

    def act(_: Ram) -> int:
        nonlocal action
        if rng.random() >= STICKINESS:
            action = int(rng.integers(actions))
        return action

    return act
