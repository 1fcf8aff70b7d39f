"""Values that were clipped."""

from collections.abc import Iterable
from typing import Final

import numpy as np

from rlds_kit.base.step import OBSERVATION, REWARD
from rlds_kit.lint.rule import Check, Hit, Severity, Stretch, rule
from rlds_kit.lint.subject import Leaf, Subject

SHARE: Final = 0.05
FEWEST: Final = 200
MOST_ELEMENTS: Final = 64
SAMPLE: Final = 1000
VARIED: Final = 0.5
"""Share of the values between the limits that have to be different from each other."""


@rule("RK305", Severity.WARNING)
class ClippedValues(Check):
    """Many values lie exactly at the limit of what occurs.

    In an element of a float leaf at least one value in twenty is exactly the smallest or the largest of the dataset,
    while those between hardly ever repeat: 200 values at least, and leaves of up to 64 elements.

    Clipping is lossy. A reward that was clipped for one algorithm (Mnih et al., "Human-level control through deep
    reinforcement learning", 2015, clip to [-1, 1]) is gone for every other, and a clipped observation hides what
    happened beyond the limit of a sensor. Actions at their limits are often meant: a controller that saturates, an
    action space.

    Record what the environment returned, and clip where it is learned from. If the limit is that of the world, ignore
    the rule.
    """

    reads = (OBSERVATION, REWARD)

    def __init__(self) -> None:
        super().__init__()
        self._elements: dict[str, _Elements] = {}

    def check_rows(self, stretch: Stretch) -> Iterable[Hit]:
        """Adds rows."""
        for path, leaf in stretch.leaves.items():
            if not self.wants(path):
                continue
            if not _is_float(leaf) or (path in self._elements and not self._elements[path].fits(leaf)):
                self.done.add(path)
                continue
            self._elements.setdefault(path, _Elements(leaf)).add(leaf)
        return ()

    def finish(self, subject: Subject) -> Iterable[Hit]:
        """Reports elements with many values at their limits."""
        del subject
        for path, elements in self._elements.items():
            if path not in self.done:
                yield from elements.hits(path)


class _Elements:
    """The statistics of the elements of a leaf."""

    def __init__(self, leaf: Leaf) -> None:
        self._shape = leaf.values.shape[1:]
        self._low, self._high = leaf.values[0].ravel().copy(), leaf.values[0].ravel().copy()
        self._at_low, self._at_high = (np.zeros(self._low.size, np.int64) for _ in range(2))
        self._sample: list[np.ndarray] = []
        self._count = 0

    def fits(self, leaf: Leaf) -> bool:
        return leaf.values.shape[1:] == self._shape

    def add(self, leaf: Leaf) -> None:
        rows = leaf.values.reshape(len(leaf.values), -1)
        self._count += len(rows)
        low, high = np.fmin.reduce(rows), np.fmax.reduce(rows)
        self._at_low[low < self._low] = self._at_high[high > self._high] = 0
        self._low, self._high = np.fmin(self._low, low), np.fmax(self._high, high)
        self._at_low += (rows == self._low).sum(axis=0)
        self._at_high += (rows == self._high).sum(axis=0)
        if sum(map(len, self._sample)) < SAMPLE:
            self._sample.append(rows[:SAMPLE].copy())

    def hits(self, path: str) -> Iterable[Hit]:
        sample = np.concatenate(self._sample)
        for element in range(self._low.size if self._count >= FEWEST else 0):
            low, high = self._low[element], self._high[element]
            between = sample[:, element][(sample[:, element] > low) & (sample[:, element] < high)]
            if len(between) < FEWEST // 4 or len(np.unique(between)) < VARIED * len(between):
                continue
            index = "".join(f"[{each}]" for each in np.unravel_index(element, self._shape)) if self._shape else ""
            for bound, count in ((low, self._at_low[element]), (high, self._at_high[element])):
                if count >= SHARE * self._count:
                    share = f"{count / self._count:.0%}"
                    yield Hit(f"{share} of the values are exactly {bound:g}", field=f"{path}{index}", count=int(count))


def _is_float(leaf: Leaf) -> bool:
    return leaf.kind == "f" and 0 < leaf.values[0].size <= MOST_ELEMENTS
