"""The words with which manuals describe the objects that can be detected in a game."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class GameObjects:
    """The objects of a game that give rewards, by OCAtari's categories.

    Categories that are not listed, such as the player's own missiles, give no rewards.

    Attributes:
      words: for each category its names in manuals, the most usual one first.
    """

    words: Mapping[str, Sequence[str]]


GAMES: Final[Mapping[str, GameObjects]] = {
    "Breakout": GameObjects({"Ball": ("ball",), "Block": ("brick", "block")}),
    "Kangaroo": GameObjects(
        {
            "Child": ("joey", "child"),
            "Fruit": ("fruit",),
            "Bell": ("bell",),
            "FallingCoconut": ("coconut",),
            "ThrownCoconut": ("coconut",),
            "Monkey": ("monkey",),
        }
    ),
    "MsPacman": GameObjects(
        {
            "Ghost": ("ghost",),
            "Pill": ("dot", "pellet"),
            "PowerPill": ("energy pill", "power pellet"),
            "Fruit": ("fruit",),
        }
    ),
    "Pong": GameObjects({"Ball": ("ball",), "Enemy": ("opponent",)}),
    "Riverraid": GameObjects(
        {
            "Helicopter": ("helicopter",),
            "Tanker": ("tanker", "ship"),
            "Jet": ("jet",),
            "Bridge": ("bridge",),
            "FuelDepot": ("fuel depot", "depot"),
        }
    ),
    "Seaquest": GameObjects(
        {
            "Diver": ("diver",),
            "Shark": ("shark",),
            "Submarine": ("enemy submarine", "submarine"),
            "EnemyMissile": ("torpedo",),
        }
    ),
    "Skiing": GameObjects({"Tree": ("tree",), "Mogul": ("mogul",), "Flag": ("gate", "flag")}),
    "SpaceInvaders": GameObjects({"Alien": ("invader", "alien"), "Bullet": ("bomb", "bullet"), "Shield": ("shield",)}),
    "Tennis": GameObjects({"Ball": ("ball",), "Enemy": ("opponent",)}),
}
"""The games that have a manual here."""
