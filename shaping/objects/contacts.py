"""Contacts between the player and objects: bounding boxes that overlap (section 4.4 of "Read and Reap the Rewards").

Boxes are compared after every emulated frame. A comparison only every four frames, as in the observations of agents,
would miss half of the contacts of Breakout's ball and paddle: the ball has left before the fourth frame.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple, get_args

from rlds_kit.shaping.objects.box import Box

Mode = Literal["onset", "every_frame"]


class Contact(NamedTuple):
    """The player touches an object.

    Attributes:
      slot: identifies the object within the episode.
      category: of the object.
    """

    slot: int
    category: str


@dataclass
class ContactDetector:
    """Detects contacts in the frames of an episode.

    Attributes:
      categories: of objects that count.
      player: the category of the player.
      mode: "onset": a contact counts in its first frame; "every_frame": in each.
      margin: pixels by which the player is enlarged on every side, if not all frames are available.

    Raises:
      ValueError: there is no such mode, or the margin is negative.

    >>> detector = ContactDetector({"Ball"})
    >>> player, ball = Box(0, "Player", 0, 0, 4, 4), Box(1, "Ball", 2, 2, 2, 2)
    >>> detector.update([player, ball]), detector.update([player, ball])
    ([Contact(slot=1, category='Ball')], [])
    """

    categories: Collection[str]
    player: str = "Player"
    mode: Mode = "onset"
    margin: int = 0
    _touching: frozenset[Contact] = field(default=frozenset(), init=False, repr=False)

    def __post_init__(self) -> None:
        if self.mode not in get_args(Mode) or self.margin < 0:
            modes = " or ".join(get_args(Mode))
            raise ValueError(f"expected mode {modes} and a margin from 0 on, got {self.mode!r} and {self.margin}")

    def reset(self) -> None:
        """Resets the state for a new episode."""
        self._touching = frozenset()

    def update(self, boxes: Iterable[Box]) -> list[Contact]:
        """The contacts that count in the next frame, in the order of `boxes`.

        A frame without a player, for example after its death, ends all contacts.
        """
        boxes = list(boxes)
        players = [box for box in boxes if box.category == self.player]
        touching = [
            Contact(box.slot, box.category)
            for box in boxes
            if box.category in self.categories and any(each.overlaps(box, self.margin) for each in players)
        ]
        new = touching if self.mode == "every_frame" else [each for each in touching if each not in self._touching]
        self._touching = frozenset(touching)
        return new
