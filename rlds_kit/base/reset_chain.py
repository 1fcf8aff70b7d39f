"""How the random numbers of an episode follow from a seed: an entry in the episode's provenance.

An environment that is reset without a seed goes on with the random numbers that it has. They follow from its last seed
and from everything that was done since. So an episode records which environment it comes from, the last seed of that
one, and how often it was reset and stepped since: to play it again, the episodes since that seed are played in order.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

RESET_CHAIN: Final = "reset_chain"
"""The name of the entry."""


@dataclass(frozen=True, slots=True)
class ResetChain:
    """Where an episode stands in what one environment did since it was seeded.

    Attributes:
      instance: identifies the environment instance, a sub-environment of its own included.
      seeded_reset: which reset of the instance had the seed, counted from 1.
      seed: that it had.
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
        """What all episodes of one chain share."""
        return self.instance, self.seeded_reset

    def provenance(self) -> dict[str, Any]:
        """The entry, under its name."""
        return {RESET_CHAIN: asdict(self)}


def chain_of(provenance: Mapping[str, Any]) -> ResetChain | None:
    """The chain that an episode belongs to; None if there is none, or it is not of this form.

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
