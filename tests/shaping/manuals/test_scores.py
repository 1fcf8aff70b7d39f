"""What the rewards by a manual have to do with the score."""

from pathlib import Path

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit import logger
from rlds_kit.shaping.manuals import (
    ContactRewards,
    EveryFrame,
    annotate_manual_rewards,
    mixed_rewards,
    read_manual,
    shipped_manual,
)
from rlds_kit.shaping.objects import PaddleAndBall

NOISE = np.linspace(0, 1, 7)
LENGTH = 400


def record(path: Path, seeds: int) -> None:
    """Play of Breakout that follows the ball, but does anything in a share of its actions."""
    gymnasium.register_envs(pytest.importorskip("ale_py"))
    env: gymnasium.Env = EveryFrame(gymnasium.make("ALE/Breakout-v5", frameskip=1, obs_type="ram"))
    env = logger.GymnasiumLogger(gymnasium.wrappers.TimeLimit(env, LENGTH), path, record_info=True)
    random = np.random.default_rng(0)
    for seed in range(seeds):
        for noise in NOISE:
            ram, _ = env.reset(seed=seed)
            is_over = False
            while not is_over:
                boxes = {box.category: box.x + box.width / 2 for box in PaddleAndBall().objects(ram)}
                away = boxes.get("Ball", boxes["Player"]) - boxes["Player"]
                action = 1 if abs(away) < 4 else 2 if away > 0 else 3
                action = int(random.integers(4)) if random.random() < noise else action
                ram, _, terminated, truncated, _ = env.step(action)
                is_over = terminated or truncated
    env.close()


def spearman(first: np.ndarray, second: np.ndarray) -> float:
    """The rank correlation; equal values share their ranks."""
    ranks = [
        np.searchsorted(np.sort(each), each) + np.searchsorted(np.sort(each), each, "right") for each in (first, second)
    ]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


@pytest.mark.slow
def test_on_recorded_play_of_breakout_rewards_rise_with_the_score(tmp_path: Path) -> None:
    """Seven players, from one that follows the ball to one that does anything; each in three episodes."""
    record(tmp_path / "data", seeds=3)
    rewards = ContactRewards(read_manual(shipped_manual("Breakout")), PaddleAndBall())
    assert annotate_manual_rewards(rlds_kit.open(tmp_path / "data"), rewards) == 21
    episodes = rlds_kit.open(tmp_path / "data").as_amended("manual").episodes
    score, manual = (
        np.array([mixed_rewards(each, {name: 1.0}).sum() for each in episodes]) for name in ("reward", "manual_reward")
    )
    assert score.max() > 5 * score.min()
    assert spearman(manual, score) > 0.7
