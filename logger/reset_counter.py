"""Counts the resets and steps of environments since their last seeds, so that their episodes can be replayed."""

import uuid
from collections.abc import Iterable
from typing import Any

from rlds_kit.base.reset_chain import ResetChain


class ResetCounters:
    """The resets and steps of environment instances that step together; only counts, and has no effect on them.

    A step costs the same for any number of them.

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
        self._instances = [uuid.uuid4().hex for _ in range(count)]
        self._seeds: list[Any] = [None] * count  # of any type that the environment accepts
        self._seeded = [0] * count  # which reset had the seed
        self._resets = [0] * count
        self._steps = 0  # that any of them made
        self._not_since = [0] * count  # of these, the ones that each did not make, or made before its seed

    def reset(self, index: int, seed: object) -> None:
        """Counts a reset of one of them, with a seed or with None."""
        self._resets[index] += 1
        if seed is not None:
            self._seeds[index], self._seeded[index] = seed, self._resets[index]
            self._not_since[index] = self._steps

    def step(self, but: Iterable[int] = ()) -> None:
        """Counts a step of all of them, whether it is recorded or not, but for some."""
        self._steps += 1
        for index in but:
            self._not_since[index] += 1

    def position(self, index: int) -> tuple[int, int, int] | None:
        """Which reset of an environment had the last seed, and its resets and steps since; None: there was no seed."""
        seeded = self._seeded[index]
        return (seeded, self._resets[index] - seeded, self._steps - self._not_since[index]) if seeded else None

    def chain(self, index: int) -> ResetChain | None:
        """The position of an episode of one environment that begins now; None if there was no seed yet."""
        position = self.position(index)
        if position is None:
            return None
        seeded, resets, steps = position
        return ResetChain(self._instances[index], seeded, self._seeds[index], resets, steps)

    def provenance(self, index: int) -> dict[str, Any]:
        """The provenance entry of an episode of one environment that begins now; empty if there was no seed yet."""
        chain = self.chain(index)
        return {} if chain is None else chain.provenance()
