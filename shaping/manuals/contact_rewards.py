"""Rewards for contacts, from the table of a manual; used during recording and afterwards."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from rlds_kit.shaping.manuals.table import InteractionTable
from rlds_kit.shaping.objects.box import Box, ObjectExtractor
from rlds_kit.shaping.objects.contacts import Contact, ContactDetector, Mode


class ContactReward(NamedTuple):
    """The reward of a step by a manual.

    Attributes:
      value: the sum of the rewards of all contacts in the frames of the step.
      confidence: 0 if there were contacts, and the table has a verdict on none of them; otherwise 1.
      contacts: in the order of frames.
    """

    value: np.float32
    confidence: float
    contacts: tuple[Contact, ...]


@dataclass
class ContactRewards:
    """Rewards the contacts of an episode, whose frames must be passed in order.

    An overlap after the action of step t belongs to step t.

    Attributes:
      table: the verdicts.
      extractor: finds the objects.
      player: the category of the player.
      mode: of `ContactDetector`.
      margin: of `ContactDetector`; use 3 if only the last frame of each step is available; the result is then
        approximate.
      boxes: the objects of the last frame.

    Raises:
      ValueError: the extractor is of another game than the table, or as for `ContactDetector`.
    """

    table: InteractionTable
    extractor: ObjectExtractor
    player: str = "Player"
    mode: Mode = "onset"
    margin: int = 0
    boxes: list[Box] = field(default_factory=list, init=False, repr=False)
    _detector: ContactDetector = field(init=False, repr=False)

    def __post_init__(self) -> None:
        game = getattr(self.extractor, "game", self.table.game)
        if game != self.table.game:
            raise ValueError(f"expected an extractor and a table of one game, got {game} and {self.table.game}")
        self._detector = ContactDetector(self.table.objects, self.player, self.mode, self.margin)

    @property
    def fingerprint(self) -> str:
        """Identifies the table, the extractor and all parameters: equal ones give equal rewards."""
        extractor = type(self.extractor).__name__
        return f"contacts-1 table={self.table.fingerprint} {extractor} mode={self.mode} margin={self.margin}"

    def reset(self, ram: NDArray[np.uint8]) -> None:
        """Begins an episode.

        Args:
          ram: `[128]` uint8, the memory at its first observation; contacts there are not rewarded.
        """
        self.extractor.reset()
        self._contacts(ram)

    def step(self, frames: NDArray[np.uint8]) -> ContactReward:
        """The reward of the next step.

        Args:
          frames: `[n, 128]` uint8, the memory after each emulated frame of the step.
        """
        contacts = [each for ram in frames for each in self._contacts(ram)]
        return ContactReward(np.float32(self._sum(contacts)), self._confidence(contacts), tuple(contacts))

    def _contacts(self, ram: NDArray[np.uint8]) -> list[Contact]:
        self.boxes = self.extractor.objects(ram)
        return self._detector.update(self.boxes)

    def _sum(self, contacts: Iterable[Contact]) -> float:
        return math.fsum(self.table[each.category].reward for each in contacts)

    def _confidence(self, contacts: Iterable[Contact]) -> float:
        verdicts = {self.table[each.category].decided for each in contacts}
        return 0.0 if verdicts == {"abstain"} else 1.0
