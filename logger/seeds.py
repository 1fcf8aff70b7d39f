"""Seeds for resets that the caller gave none for."""

from collections.abc import Iterable
from typing import Final

import numpy as np

_LARGEST: Final = 2**31
"""Many environments hand their seed to libraries that take 31 bits."""
_BRANCH: Final = (0x726C6473,)
"""Keeps our stream apart from the environment's own, which starts from the same seed."""


class SeedSource:
    """Draws seeds; after a caller's seed all that follow are determined by it.

    >>> one, other = SeedSource(), SeedSource()
    >>> one.follow(7), other.follow(7)
    (None, None)
    >>> one.draw() == other.draw()
    True
    """

    def __init__(self) -> None:
        self._random = np.random.default_rng()

    def follow(self, seed: int | Iterable[int]) -> None:
        """Begins anew from a seed, or several, that the caller gave."""
        numbers = [abs(int(number)) for number in (seed if isinstance(seed, Iterable) else [seed])]
        self._random = np.random.default_rng(np.random.SeedSequence(numbers, spawn_key=_BRANCH))

    def draw(self, count: int = 1) -> int:
        """A seed in [0, 2**31) that can be the first of `count` neighbouring ones in that interval."""
        return int(self._random.integers(_LARGEST - count + 1))
