"""Counts the resets and steps of environments since their last seeds, so that their episodes can be replayed."""

import copy
import uuid
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from rlds_kit.base.reset_chain import ResetChain
from rlds_kit.spec.value import INT64_MAX, INT64_MIN
from rlds_kit.storage.array_form import add_flags


class ResetCounts(NamedTuple):
    """The counts of all environments after a reset; the arrays are never changed.

    Attributes:
      seeded: `[environments]` int64, which reset had the last seed; 0: there was none.
      replaced: `[environments]` int64, resets that took the place of a step, as nearly all do.
      others: `[2, environments]` int64, other resets, and steps that it did not make for another reason, or made
        before its seed.
    """

    seeded: np.ndarray
    replaced: np.ndarray
    others: np.ndarray

    def position(self, index: int, steps: int) -> tuple[int, int, int] | None:
        """Which reset of an environment had the last seed, and its resets and steps since; None: there was no seed.

        Args:
          index: of the environment.
          steps: that any of them has made.
        """
        resets, missed = self.others[:, index].tolist()
        return position_of(int(self.seeded[index]), int(self.replaced[index]), (resets, missed), steps)


def _is_usual(seed: object) -> bool:
    return type(seed) is int and INT64_MIN <= seed <= INT64_MAX


def position_of(seeded: int, replaced: int, others: tuple[int, int], steps: int) -> tuple[int, int, int] | None:
    """As `ResetCounts.position`, of the counts of one environment.

    >>> position_of(1, 2, (1, 3), 10)
    (1, 2, 5)
    """
    return (seeded, replaced + others[0] - seeded, steps - replaced - others[1]) if seeded else None


class ResetCounters:
    """The resets and steps of environment instances that step together; only counts, and has no effect on them.

    A step costs the same for any number of them.

    Attributes:
      counts: after the last reset; replaced, never changed.
      steps: that any of them has made.

    >>> counters = ResetCounters(2)
    >>> counters.reset(1, None)
    >>> counters.provenance(1)  # no seed: nothing is known of its random numbers
    {}
    >>> counters.reset(1, 7)
    >>> counters.step()
    >>> counters.reset(1, None)
    >>> found = counters.provenance(1)["reset_chain"]
    >>> found["seed"], found["resets"], found["steps"]
    (7, 1, 1)
    """

    def __init__(self, count: int) -> None:
        seeded, replaced, others = (np.zeros(shape, np.int64) for shape in (count, count, (2, count)))
        self.counts, self.steps = ResetCounts(seeded, replaced, others), 0
        self._instances = [uuid.uuid4().hex for _ in range(count)]
        self._seeds: tuple[Any, ...] = (None,) * count  # of any type that the environment accepts

    def reset(self, index: int, seed: object) -> None:
        """Counts a reset of one of them, with a seed or with None."""
        self.reset_each({index: seed})

    def reset_each(self, seeds: Mapping[int, object]) -> None:
        """Counts a reset of some of them, each with a seed or with None."""
        replaced, seeded, others = self.counts.replaced, self.counts.seeded.copy(), self.counts.others.copy()
        all_seeds = [*self._seeds]
        for index, seed in seeds.items():
            others[0, index] += 1
            if seed is not None:
                all_seeds[index] = seed
                seeded[index] = replaced[index] + others[0, index]
                others[1, index] = self.steps - replaced[index]
        self._seeds, self.counts = tuple(all_seeds), ResetCounts(seeded, replaced, others)

    def reset_without_seed(self, chosen: np.ndarray) -> None:
        """Counts a reset of some of them, `[environments]` bool."""
        others = self.counts.others.copy()
        others[0] += chosen
        self.counts = ResetCounts(self.counts.seeded, self.counts.replaced, others)

    def step(self) -> None:
        """Counts a step of all of them, whether it is recorded or not."""
        self.steps += 1

    def step_or_reset(self, resetting: np.ndarray) -> None:
        """Counts a step of all of them, or a reset without a seed where `[environments]` bool are true."""
        self.steps += 1
        seeded, replaced, others = self.counts
        self.counts = ResetCounts(seeded, add_flags(replaced, resetting), others)

    def after(self, resetting: np.ndarray) -> tuple[ResetCounts, int]:
        """The counts, and the steps, after a `step_or_reset` for each row of `[steps, environments]` bool."""
        replaced = self.counts.replaced + np.count_nonzero(resetting, axis=0)
        return self.counts._replace(replaced=replaced), self.steps + len(resetting)

    def copy(self) -> "ResetCounters":
        """The counters as they are now."""
        return copy.copy(self)  # what it has is replaced, never changed

    def odd_seeds(self) -> list[int]:
        """The environments whose seed is no number of 64 bits, so that it may not be recordable."""
        return [index for index, seed in enumerate(self._seeds) if seed is not None and not _is_usual(seed)]

    def chain(self, index: int) -> ResetChain | None:
        """The position of an episode of one environment that begins now; None if there was no seed yet."""
        position = self.counts.position(index, self.steps)
        if position is None:
            return None
        seeded, resets, steps = position
        return ResetChain(self._instances[index], seeded, self._seeds[index], resets, steps)

    def provenance(self, index: int) -> dict[str, Any]:
        """The provenance entry of an episode of one environment that begins now; empty if there was no seed yet."""
        chain = self.chain(index)
        return {} if chain is None else chain.provenance()
