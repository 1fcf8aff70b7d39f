"""The provenance entry that records how the random state of an episode is derived from a seed.

An environment that is reset without a seed continues with its current random state, which is determined by its last
seed and by all resets and steps since. So an episode records its environment instance, the last seed of that instance,
and the numbers of resets and steps since: to replay it, all episodes since that seed are replayed in order.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

RESET_CHAIN: Final = "reset_chain"
"""The name of the entry."""


@dataclass(frozen=True, slots=True)
class ResetChain:
    """The position of an episode in the sequence of resets and steps of one environment since its last seed.

    Attributes:
      instance: identifies the environment instance, a sub-environment of its own included.
      seeded_reset: which reset of the instance had the seed, counted from 1.
      seed: of that reset.
      resets: since then; 0: the episode began with the seed.
      steps: of the environment since then, before this episode, recorded or not.
    """

    instance: str
    seeded_reset: int
    seed: Any  # of whatever type the environment takes
    resets: int
    steps: int

    @property
    def key(self) -> tuple[str, int]:
        """Identifies the chain: equal for all its episodes."""
        return self.instance, self.seeded_reset

    def provenance(self) -> dict[str, Any]:
        """Returns the entry of this chain in a provenance: a dict with the key `reset_chain`."""
        # No `asdict`, which copies the seed, and takes longer than all else at a reset of many environments.
        return {RESET_CHAIN: {name: getattr(self, name) for name in self.__slots__}}


def chain_of(provenance: Mapping[str, Any]) -> ResetChain | None:
    """Returns the reset chain in an episode's provenance; None if there is none, or its entry is not a valid one.

    >>> chain_of(ResetChain("a", 1, 7, 2, 60).provenance())
    ResetChain(instance='a', seeded_reset=1, seed=7, resets=2, steps=60)
    >>> chain_of({"reset_chain": {"instance": "a"}}) is None
    True
    """
    match provenance.get(RESET_CHAIN):
        case {
            "instance": str(instance),
            "seeded_reset": int(seeded_reset),
            "seed": seed,
            "resets": int(resets),
            "steps": int(steps),
        } if resets >= 0:
            return ResetChain(instance, seeded_reset, seed, resets, steps)
    return None
