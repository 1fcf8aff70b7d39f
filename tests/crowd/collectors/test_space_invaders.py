"""Collectors against the game itself: what is counted is what the console's own counter and its rewards state."""

import numpy as np
import pytest

from rlds_kit.crowd.collectors import Formation, Tally, collector, moment
from tests.crowd.collectors.consoles import space_invaders


def _play(frames: int, seed: int) -> dict[str, int]:
    """Plays, and compares every frame; lives are given back, so that waves end."""
    env = space_invaders()
    random = np.random.default_rng(seed)
    seen = {"hits": 0, "shifts": 0, "waves": 0, "ufos": 0}
    before, _ = env.reset(seed=seed)
    formation = Formation()
    formation.update(before)
    action = 1
    for frame in range(frames):
        action = int(random.choice([1, 4, 5])) if frame % 5 == 0 else action
        if frame % 50 == 0:
            env.unwrapped.ale.setRAM(0x49, 3)  # type: ignore[attr-defined]  # of ale-py
        after, reward, terminated, truncated, _ = env.step(action)
        hits = formation.update(after)
        fewer = int(before[0x11]) - int(after[0x11])
        assert len(hits) == max(fewer, 0), frame
        assert float(reward) in {sum(each.points for each in hits), 200.0 + sum(each.points for each in hits)}, frame
        seen["hits"] += len(hits)
        seen["ufos"] += float(reward) >= 200
        seen["waves"] += fewer < 0
        seen["shifts"] += int(after[0x1A]) - int(before[0x1A]) > 8
        before = after.copy()
        if terminated or truncated:
            before, _ = env.reset()
            formation = Formation()
            formation.update(before)
    env.close()
    return seen


def test_c19_c20_every_hit_is_a_decrease_of_the_counter_and_a_reward() -> None:
    """Over 20,000 frames, with columns that empty: no phantom hit, none missed, and each alien is what it pays for."""
    seen = _play(20_000, 0)
    assert seen["hits"] > 50
    assert seen["shifts"] > 2


@pytest.mark.slow
def test_c20_the_same_over_a_million_frames() -> None:
    """With waves that end, and UFOs."""
    seen = [_play(100_000, seed) for seed in range(10)]
    assert min(sum(each[name] for each in seen) for name in seen[0]) > 0


def test_c24_accuracy_counts_every_shot() -> None:
    """A shot is launched when there was none and then is one: two of three that fire in vain are counted too."""
    env = space_invaders()
    ram, _ = env.reset(seed=1)
    tally = Tally([collector("accuracy"), collector("aliens_hit"), collector("score")])
    shots = hits = 0
    for index in range(1_500):
        after, reward, *_ = env.step(1)
        shots += ram[0x55] == 0xF6 != after[0x55]
        hits += float(reward) > 0
        found = moment(index, {"action": 1, "reward": reward, "observation": ram}, {"observation": after})
        assert found is not None
        tally.add(found)
        ram = after.copy()
    env.close()
    assert shots > 10
    assert tally.values.episode["accuracy"] == hits / shots


def test_c17_the_cannon_goes_from_the_leftmost_place_to_the_rightmost() -> None:
    """Memory 0x1C is 0x23 there, and 0x75: the whole way is 0 to 1."""
    from rlds_kit.crowd.collectors.position import cannon

    env = space_invaders()
    env.reset(seed=0)
    left, right = ([cannon(env.step(action)[0]) for _ in range(200)] for action in (3, 2))
    env.close()
    assert (min(left), max(right)) == (0.0, 1.0)
