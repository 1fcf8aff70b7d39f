"""Cooperative Space Invaders, against the game itself."""

from pathlib import Path

import numpy as np
import pytest

import rlds_kit
from rlds_kit.crowd.collectors import Formation
from rlds_kit.crowd.space_invaders import CooperativeSpaceInvaders, make
from rlds_kit.logger import PettingZooLogger
from rlds_kit.trials import EnvironmentSpec
from rlds_kit.trials.environments.parallel_playable import ParallelPlayable


def _play(env: CooperativeSpaceInvaders, frames: int, seed: int) -> list[tuple[float, np.ndarray, np.ndarray]]:
    """The shared reward of each frame, and the memory before and after it."""
    random = np.random.default_rng(seed)
    _, infos = env.reset(seed=seed)
    seen, ram = [], infos["first_0"]["ram"]
    actions = {"first_0": 1, "second_0": 1}
    for frame in range(frames):
        if frame % 6 == 0:
            actions = {agent: int(random.choice([1, 4, 5, 0])) for agent in env.possible_agents}
        _, rewards, terminated, _, infos = env.step(actions)
        assert len(set(rewards.values())) == 1
        seen.append((rewards["first_0"], ram, infos["first_0"]["ram"]))
        ram = infos["first_0"]["ram"]
        if any(terminated.values()):
            _, infos = env.reset()
            ram = infos["first_0"]["ram"]
    return seen


Seen = list[tuple[float, np.ndarray, np.ndarray]]


@pytest.fixture(scope="module")
def seen() -> Seen:
    """A minute of play."""
    return _play(make(), 3_600, 0)


def test_c39_both_get_the_sum_and_nothing_for_a_hit_of_the_other(seen: Seen) -> None:
    """Every reward is for aliens, or a UFO; those of 200 for the other's hit are gone."""
    hits = 0
    formation, last = Formation(), None
    for reward, before, after in seen:
        if last is None or not np.array_equal(last, before):
            formation = Formation()
            formation.update(before)
        shot = sum(each.points for each in formation.update(after))
        assert reward in {shot, shot + 200.0, shot + 400.0}
        is_hit = bool(after[0x2A] & 0x06 & ~before[0x2A])
        hits += is_hit
        assert not is_hit or reward == shot
        last = after
    assert hits > 0
    assert sum(reward for reward, *_ in seen) > 0


def test_c39_mean_clipped_gives_half_for_one_alien() -> None:
    rewards = {reward for reward, *_ in _play(make(reward="mean_clipped"), 800, 0)}
    assert {0.0, 0.5} <= rewards <= {0.0, 0.5, 1.0}


def test_c40_starts_are_random_and_follow_from_the_seed() -> None:
    """At each reset, and after a cannon was hit; without, they are where the game has them."""
    envs = {True: make(), False: make(random_starts=False)}

    def starts(seed: int, *, random_starts: bool = True) -> tuple[int, int]:
        ram = envs[random_starts].reset(seed=seed)[1]["first_0"]["ram"]
        return int(ram[0x1C]), int(ram[0x1D])

    places = [starts(seed) for seed in range(4)]
    assert [starts(seed) for seed in range(4)] == places
    assert len(set(places)) > 2
    assert all(0x23 <= each <= 0x75 for pair in places for each in pair)
    assert starts(0, random_starts=False) == starts(1, random_starts=False)


def test_c40_a_cannon_comes_back_at_a_random_place(seen: Seen) -> None:
    """Not where it was, nor where the game puts it."""
    back = [
        (int(after[place]), int(before[place]))
        for _, before, after in seen
        for place, bit in ((0x1C, 0x04), (0x1D, 0x02))
        if before[0x2A] & ~after[0x2A] & bit
    ]
    assert len(back) > 1
    assert len({now for now, _ in back}) > 1


def test_c41_it_is_a_parallel_environment_that_is_recorded_and_played(tmp_path: Path) -> None:
    """A logger records it; the studio gives each of its agents a seat with keys."""
    with PettingZooLogger(make(max_frames=20), tmp_path / "d") as env:
        env.reset(seed=0)
        while env.agents:
            env.step(dict.fromkeys(env.agents, 1))
    episode = rlds_kit.open(tmp_path / "d").episodes[0]
    assert (episode.length, episode.truncated) == (21, True)
    playable = ParallelPlayable(EnvironmentSpec("rlds_kit.crowd.space_invaders:make", is_for_people=True))
    assert playable.seats == ("first_0", "second_0")
    assert len(playable.controls["first_0"].actions) == 5  # and nothing, without a key
    playable.close()


def test_c39_mistakes_are_named() -> None:
    with pytest.raises(ValueError, match="expected one of sum, mean_clipped, got 'mean'"):
        make(reward="mean")
    env = make()
    with pytest.raises(ValueError, match="reset first"):
        env.step({})
