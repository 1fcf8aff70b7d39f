"""Collectors of where a player is: the fraction of steps on one side of the screen."""

import functools
from collections.abc import Callable
from typing import Final

from rlds_kit.crowd.collectors.collector import READS, Collector
from rlds_kit.crowd.collectors.moment import Moment, Ram

_LEFTMOST, _RIGHTMOST = 0x23, 0x75


def cannon(ram: Ram, player: int = 0) -> float:
    """Where a cannon of Space Invaders is: from 0 at its leftmost place to 1 at its rightmost.

    Args:
      ram: uint8 `[128]`.
      player: 0, or 1 in games of two.
    """
    return (int(ram[0x1C + player]) - _LEFTMOST) / (_RIGHTMOST - _LEFTMOST)


def plane(ram: Ram) -> float:
    """Where the plane of River Raid is: pixels to the right of where it begins; `ram` is uint8 `[128]`."""
    return float(int(ram[0x33]) - 0x4C)


class _Fraction:
    def __init__(self, place: Callable[[Ram], float], least: float, most: float) -> None:
        self._place, self._least, self._most = place, least, most
        self._within = self._all = 0

    def __call__(self, moment: Moment) -> float:
        ram = moment.ram_after
        if ram is not None:
            self._all += 1
            self._within += self._least <= self._place(ram) <= self._most
        return self._within / self._all if self._all else 0.0


def x_position(name: str, label: str, place: Callable[[Ram], float], least: float, most: float) -> Collector:
    """The fraction of steps after which a place was between two limits, both included.

    Args:
      name: of the collector.
      label: for people.
      place: from the console's memory; can be pickled.
      least: place.
      most: place.

    >>> x_position("middle", "Time in the middle", plane, -5, 5).is_fraction
    True
    """
    return Collector(name, label, functools.partial(_Fraction, place, least, most), is_fraction=True, reads=READS)


def _cannon(name: str, label: str, player: int, least: float, most: float) -> Collector:
    return x_position(name, label, functools.partial(cannon, player=player), least, most)


SPACE_INVADERS_LEFT: Final = _cannon("space_invaders_left", "Time on the left", 0, 0, 0.5)
SPACE_INVADERS_RIGHT: Final = _cannon("space_invaders_right", "Time on the right", 0, 0.5, 1)
SPACE_INVADERS_LEFT_SECOND: Final = _cannon("space_invaders_left_second", "Time on the left", 1, 0, 0.5)
"""Of the second player."""
SPACE_INVADERS_RIGHT_SECOND: Final = _cannon("space_invaders_right_second", "Time on the right", 1, 0.5, 1)
"""Of the second player."""
RIVER_RAID_LEFT: Final = x_position("river_raid_left", "Time on the left", plane, -1000, 5)
"""With 10 pixels in the middle that are on both sides."""
RIVER_RAID_RIGHT: Final = x_position("river_raid_right", "Time on the right", plane, -5, 1000)
