"""Consoles that tests of collectors play, and memories that they draw."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from rlds_kit.crowd.collectors.moment import Moment, Ram, moment

Bits = tuple[int, int, int, int, int, int]
FULL: Bits = (0b111111,) * 6


def memory(rows: Bits, place: int = 26, *, shot: int = 0xF6, second: int = 0xF6, bits: int = 0) -> Ram:
    """A console's memory with these aliens, the lowest row first."""
    ram = np.zeros(128, np.uint8)
    ram[0x12:0x18] = rows
    ram[0x11] = sum(row.bit_count() for row in rows)
    ram[0x1A], ram[0x55], ram[0x56], ram[0x18] = place, shot, second, bits
    return ram


def moments_of(*memories: Ram, rewards: tuple[float, ...] = ()) -> Iterator[Moment]:
    """A moment for each two memories; the reward of each is 5, or as given."""
    for index, (before, after) in enumerate(pairwise(memories)):
        step = {"action": 1, "reward": rewards[index] if rewards else 5.0, "ram": before}
        found = moment(index, step, {"ram": after})
        assert found is not None
        yield found


def without(rows: Bits, *aliens: tuple[int, int]) -> Bits:
    """Rows after aliens at (row, column) are gone."""
    left = list(rows)
    for row, column in aliens:
        left[row] &= ~(1 << column)
    return (left[0], left[1], left[2], left[3], left[4], left[5])


def space_invaders() -> gymnasium.Env[npt.NDArray[np.uint8], int]:
    """The game, a frame a step, whose observations are the console's memory."""
    import ale_py

    gymnasium.register_envs(ale_py)
    made: Any = gymnasium.make(
        "ALE/SpaceInvaders-v5", frameskip=1, repeat_action_probability=0.0, obs_type="ram", max_num_frames_per_episode=0
    )
    return made
