"""Score, time and positions."""

import math

import numpy as np
import pytest

from rlds_kit.crowd.collectors import Collector, active_time, collector, moments
from rlds_kit.crowd.collectors.position import plane
from tests.crowd.collectors.consoles import FULL, memory, moments_of


def _last(name: str, steps: list[dict[str, object]], fps: float | None = None) -> float:
    count = collector(name).begin()
    return [count(each) for each in moments(steps, fps=fps)][-1]


def test_c14_score_sums_rewards_and_skips_what_is_none() -> None:
    """No reward, and one that is not a number, count as 0."""
    rewards: list[object] = [1.5, None, math.nan, np.float32(2), math.inf]
    assert _last("score", [{"action": 0, "reward": each} for each in rewards] + [{}]) == 3.5


@pytest.mark.parametrize("fps", [15, 30, 60, 7])
def test_c15_time_played_is_right_at_any_rate(fps: int) -> None:
    """Of 10 seconds of steps, without a clock."""
    assert _last("time_played", [{"action": 0, "reward": 0.0}] * (10 * fps + 1), fps) == 10.0


def test_c15_time_played_follows_the_recorded_clock() -> None:
    steps: list[dict[str, object]] = [{"action": 0, "time_ns": time} for time in (0, 2_000_000_000, 2_500_000_000)]
    assert _last("time_played", steps) == 2.5


@pytest.mark.parametrize(
    ("pressed", "rewarded", "expected"),
    [
        (range(100), range(100), 100),
        (range(1), range(1), 31),  # 30 seconds after the last key
        (range(100), range(1), 61),  # 60 seconds after the last reward
        (range(0), range(100), 0),
        (range(100), range(0), 0),
        (range(40, 41), range(1), 21),
    ],
)
def test_c16_active_time_needs_a_key_and_a_reward(pressed: range, rewarded: range, expected: float) -> None:
    """One step a second, 100 steps."""
    steps: list[dict[str, object]] = [
        {"action": int(second in pressed), "reward": float(second in rewarded)} for second in range(100)
    ]
    assert _last("active_time", [*steps, {}], 1) == expected


def test_c16_both_thresholds_are_parameters() -> None:
    count = active_time(2, 100).begin()
    steps: list[dict[str, object]] = [{"action": int(second == 0), "reward": 1.0} for second in range(10)]
    assert [count(each) for each in moments([*steps, {}], fps=1)][-1] == 3.0


@pytest.mark.parametrize(("name", "expected"), [("left", 0.5), ("right", 0.75), ("left_second", 0.0)])
def test_c17_fraction_of_steps_on_a_side(name: str, expected: float) -> None:
    """The middle is on both sides; the second player has a place of its own."""
    memories = []
    for place in (0x23, 0x23, 0x4C, 0x60, 0x75):
        ram = memory(FULL)
        ram[0x1C], ram[0x1D] = place, 0x75
        memories.append(ram)
    count = collector(f"space_invaders_{name}").begin()
    assert [*map(count, moments_of(*memories))][-1] == expected


def test_c18_the_plane_begins_in_the_middle_which_is_on_both_sides() -> None:
    """Where River Raid begins is 0; the sides have 10 pixels in common."""
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    env = gymnasium.make("ALE/Riverraid-v5", obs_type="ram")
    ram, _ = env.reset(seed=0)
    env.close()
    assert plane(ram) == 0.0
    ends = []
    for place in (-40, -5, 5, 40):
        after = ram.copy()
        after[0x33] = 0x4C + place
        ends.append(after)
    for name, expected in (("river_raid_left", 0.75), ("river_raid_right", 0.75)):
        count = collector(name).begin()
        assert [*map(count, moments_of(ram, *ends))][-1] == expected


def test_c13_names_are_checked() -> None:
    """A name that is none, and one that nothing has, are named."""
    with pytest.raises(ValueError, match="expected a name of letters, digits and _, got 'a b'"):
        Collector("a b", "A", lambda: lambda _: 0.0)
    with pytest.raises(ValueError, match=r"expected one of the collectors accuracy, .*; got 'speed'"):
        collector("speed")


@pytest.mark.parametrize("fps", [0.0, -60.0, math.nan, math.inf])
def test_a_rate_is_above_nothing(fps: float) -> None:
    with pytest.raises(ValueError, match="fps: expected steps in a second"):
        _last("time_played", [{"action": 1}, {}], fps)
