"""An extractor whose objects a test states, for memory whose bytes are places."""

import numpy as np
from numpy.typing import NDArray

from rlds_kit.shaping.manuals import Interaction, InteractionTable
from rlds_kit.shaping.objects import Box


class Scripted:
    """A player at 10, and a "Ball", a "Tree" and a "Cloud" at the positions in the first bytes; 0: missing.

    Attributes:
      resets: number of episodes.
    """

    def __init__(self) -> None:
        self.resets = 0

    def reset(self) -> None:
        self.resets += 1

    def objects(self, ram: NDArray[np.uint8]) -> list[Box]:
        names = ("Ball", "Tree", "Cloud")
        found = [Box(slot, name, int(ram[slot]), 0, 2, 2) for slot, name in enumerate(names) if ram[slot]]
        return [Box(9, "Player", 10, 0, 2, 2), *found]


def ram(*places: int) -> NDArray[np.uint8]:
    """Memory of a frame, from the places of the objects."""
    return np.array([*places, *(0 for _ in range(128 - len(places)))], np.uint8)


def table() -> InteractionTable:
    """Balls are good, trees bad, clouds undecided."""
    rows = (("Ball", 0.9, "yes"), ("Tree", 0.1, "no"), ("Cloud", 0.5, "abstain"))
    interactions = tuple(Interaction(name, name.lower(), "", yes, verdict) for name, yes, verdict in rows)  # type: ignore[arg-type]
    return InteractionTable("Park", "a test", "CC0-1.0", "0" * 64, "by hand", "by hand", interactions)
