"""Collectors for Space Invaders: the order in which aliens are shot, hits, and accuracy."""

import functools
import math
from collections.abc import Callable
from typing import Final

from rlds_kit.crowd.collectors.aliens import COLUMNS, Alien, Formation, own_hits
from rlds_kit.crowd.collectors.collector import READS, Collector
from rlds_kit.crowd.collectors.moment import Moment, Ram

IsRight = Callable[[Formation, Alien], bool]
"""Whether an alien was rightly shot: takes the formation after that."""


def from_below(formation: Formation, alien: Alien) -> bool:
    """Row by row: every row below is empty."""
    return all(formation.row_is_empty(row) for row in range(alien.row))


def outside_in(formation: Formation, alien: Alien) -> bool:
    """Outside in, each side by itself: every column further out on its side is empty."""
    further = range(alien.column) if alien.column < 3 else range(alien.column + 1, COLUMNS)
    return all(map(formation.column_is_empty, further))


def outside_in_strict(formation: Formation, alien: Alien) -> bool:
    """Outside in, both sides together: every column further out on either side is empty."""
    return all(formation.column_is_empty(column) for column in range(COLUMNS) if _ring(column) < _ring(alien.column))


def inside_out(formation: Formation, alien: Alien) -> bool:
    """Inside out, each side by itself: every column further in on its side is empty."""
    further = range(alien.column + 1, 3) if alien.column < 3 else range(3, alien.column)
    return all(map(formation.column_is_empty, further))


def inside_out_strict(formation: Formation, alien: Alien) -> bool:
    """Inside out, both sides together: every column further in on either side is empty."""
    return all(formation.column_is_empty(column) for column in range(COLUMNS) if _ring(column) > _ring(alien.column))


def odd_rows(formation: Formation, alien: Alien) -> bool:
    """The first, third and fifth row from below."""
    del formation
    return alien.row % 2 == 0


def any_alien(formation: Formation, alien: Alien) -> bool:
    """Every alien."""
    del formation, alien
    return True


def _ring(column: int) -> int:
    return min(column, COLUMNS - 1 - column)


class _Shot:
    """Counts aliens that were shot rightly, and others."""

    def __init__(self, is_right: IsRight, *, is_fraction: bool) -> None:
        self._is_right, self._is_fraction = is_right, is_fraction
        self._formation = Formation()
        self._right = self._all = 0

    def __call__(self, moment: Moment) -> float:
        if moment.index == 0:
            self._formation = Formation()  # a session goes on with another episode
            if moment.ram_before is not None:
                self._formation.update(moment.ram_before)
        if (ram := moment.ram_after) is not None:
            for alien in own_hits(self._formation.update(ram), moment.reward):
                self._all += 1
                self._right += self._is_right(self._formation, alien)
        if not self._is_fraction:
            return float(self._right)
        return self._right / self._all if self._all else 0.0


class _Accuracy:
    """Rewards for each shot of a player: signs are summed, so that an alien of any row counts 1, a UFO too."""

    def __init__(self, player: int) -> None:
        self._player = player
        self._flies = False
        self._shots = 0
        self._hits = 0.0

    def __call__(self, moment: Moment) -> float:
        if moment.index == 0:
            self._flies = moment.ram_before is not None and is_flying(moment.ram_before, self._player)
        if (ram := moment.ram_after) is not None:
            flies = is_flying(ram, self._player)
            self._shots += flies and not self._flies
            self._flies = flies
        self._hits += math.copysign(1, moment.reward) if moment.reward else 0
        return self._hits / self._shots if self._shots else 0.0


def is_flying(ram: Ram, player: int = 0) -> bool:
    """Whether a shot of a player of Space Invaders flies.

    Memory 0x55 and 0x56 have the heights of shots, 0xF6 for none; in a game of two, bits of 0x18 name who shot the
    first of them, and the other is the other player's.

    Args:
      ram: uint8 `[128]`.
      player: 0, or 1 in games of two.
    """
    bits = int(ram[0x18]) & 0x0C
    first = 1 if bits == 0x04 else 0
    return int(ram[0x55 if player == first else 0x56]) != 0xF6


def _fraction(name: str, label: str, is_right: IsRight) -> Collector:
    begin = functools.partial(_Shot, is_right, is_fraction=True)
    return Collector(name, f"{label}, of all", begin, is_fraction=True, reads=READS)


def _count(name: str, label: str, is_right: IsRight) -> Collector:
    return Collector(f"{name}_count", label, functools.partial(_Shot, is_right, is_fraction=False), reads=READS)


ROW_BY_ROW: Final = _fraction("row_by_row", "Aliens shot row by row", from_below)
ROW_BY_ROW_COUNT: Final = _count("row_by_row", "Aliens shot row by row", from_below)
OUTSIDE_IN: Final = _fraction("outside_in", "Aliens shot outside in", outside_in)
OUTSIDE_IN_COUNT: Final = _count("outside_in", "Aliens shot outside in", outside_in)
OUTSIDE_IN_STRICT: Final = _fraction("outside_in_strict", "Aliens shot outside in", outside_in_strict)
OUTSIDE_IN_STRICT_COUNT: Final = _count("outside_in_strict", "Aliens shot outside in", outside_in_strict)
INSIDE_OUT: Final = _fraction("inside_out", "Aliens shot inside out", inside_out)
INSIDE_OUT_COUNT: Final = _count("inside_out", "Aliens shot inside out", inside_out)
INSIDE_OUT_STRICT: Final = _fraction("inside_out_strict", "Aliens shot inside out", inside_out_strict)
INSIDE_OUT_STRICT_COUNT: Final = _count("inside_out_strict", "Aliens shot inside out", inside_out_strict)
ODD_ROWS: Final = _fraction("odd_rows", "Aliens shot in odd rows", odd_rows)
ODD_ROWS_COUNT: Final = _count("odd_rows", "Aliens shot in odd rows", odd_rows)
ALIENS_HIT: Final = Collector(
    "aliens_hit", "Aliens shot", functools.partial(_Shot, any_alien, is_fraction=False), reads=READS
)
ACCURACY: Final = Collector(
    "accuracy", "Hits for each shot", functools.partial(_Accuracy, 0), is_fraction=True, reads=READS
)
ACCURACY_SECOND: Final = Collector(
    "accuracy_second", "Hits for each shot", functools.partial(_Accuracy, 1), is_fraction=True, reads=READS
)
"""Of the second player."""
