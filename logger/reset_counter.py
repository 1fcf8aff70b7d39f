"""Counts the resets and steps of an environment since its last seed, so that its episodes can be replayed."""

import uuid
from collections.abc import Iterable
from typing import Any

from rlds_kit.base.reset_chain import ResetChain


class ResetCounter:
    """The resets and steps of one environment instance; only counts, and has no effect on it.

    >>> counter = ResetCounter()
    >>> counter.reset(None)
    >>> counter.provenance()  # no seed: nothing is known of its random numbers
    {}
    >>> counter.reset(7)
    >>> counter.step()
    >>> counter.reset(None)
    >>> found = counter.provenance()["reset_chain"]
    >>> found["seed"], found["resets"], found["steps"]
    (7, 1, 1)
    """

    def __init__(self) -> None:
        self._instance = uuid.uuid4().hex
        self._all_resets = self._seeded_reset = self._resets = self._steps = 0
        self._seed: Any = None  # any type that the environment accepts

    def reset(self, seed: object) -> None:
        """Counts the next reset, with a seed or with None."""
        self._all_resets += 1
        self._resets += 1
        if seed is not None:
            self._seed, self._seeded_reset = seed, self._all_resets
            self._resets = self._steps = 0

    def step(self, count: int = 1) -> None:
        """Counts the next steps, whether they are recorded or not."""
        self._steps += count

    def chain(self) -> ResetChain | None:
        """The position of an episode that begins now; None if there was no seed yet."""
        if self._seed is None:
            return None
        return ResetChain(self._instance, self._seeded_reset, self._seed, self._resets, self._steps)

    def provenance(self) -> dict[str, Any]:
        """The provenance entry of an episode that begins now; empty if there was no seed yet."""
        chain = self.chain()
        return {} if chain is None else chain.provenance()


class ResetCounters:
    """Counts resets and steps of environments that step together; counting costs the same for any number of them.

    >>> counters = ResetCounters(2)
    >>> counters.reset(1, 7)
    >>> counters.step()
    >>> counters.provenance(1)["reset_chain"]["steps"]
    1
    """

    def __init__(self, count: int) -> None:
        self._counters = [ResetCounter() for _ in range(count)]
        self._steps, self._counted = 0, [0] * count  # of all; and how many each counter knows of, or did not make

    def reset(self, index: int, seed: object) -> None:
        """Counts a reset of one of them, with a seed or with None."""
        self._pass_on(index).reset(seed)

    def step(self, but: Iterable[int] = ()) -> None:
        """Counts a step of all of them, but for some."""
        self._steps += 1
        for index in but:
            self._counted[index] += 1

    def chain(self, index: int) -> ResetChain | None:
        """As `ResetCounter.chain`, of one of them."""
        return self._pass_on(index).chain()

    def provenance(self, index: int) -> dict[str, Any]:
        """Returns the provenance of one environment, as `ResetCounter.provenance` does."""
        return self._pass_on(index).provenance()

    def _pass_on(self, index: int) -> ResetCounter:
        counter = self._counters[index]
        counter.step(self._steps - self._counted[index])
        self._counted[index] = self._steps
        return counter
