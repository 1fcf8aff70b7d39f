"""Draws seeds for resets without one."""

from collections.abc import Iterable
from typing import Final

import numpy as np

_LARGEST: Final = 2**31
"""Many environments pass their seed to libraries that support 31 bits."""
_BRANCH: Final = (0x726C6473,)
"""Separates our random numbers from those of the environment, which start from the same seed."""


class SeedSource:
    """Draws seeds; after a seed of the caller, all following ones are determined by it.

    >>> one, other = SeedSource(), SeedSource()
    >>> one.follow(7), other.follow(7)
    (None, None)
    >>> one.draw() == other.draw()
    True
    """

    def __init__(self) -> None:
        self._random = np.random.default_rng()

    def follow(self, seed: int | Iterable[int]) -> None:
        """Restarts from a seed, or several seeds, of the caller."""
        numbers = [abs(int(number)) for number in (seed if isinstance(seed, Iterable) else [seed])]
        self._random = np.random.default_rng(np.random.SeedSequence(numbers, spawn_key=_BRANCH))

    def draw(self, count: int = 1) -> int:
        """A seed in [0, 2**31) that can be the first of `count` neighbouring ones in that interval."""
        return int(self._random.integers(_LARGEST - count + 1))
