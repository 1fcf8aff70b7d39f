"""What agents learn from simulated trainers; `benchmarks/training_by_hand.py` measures all of it on 20 seeds."""

import numpy as np
import pytest

from rlds_kit.shaping.credit import NextStep
from rlds_kit.shaping.learners import mountain_car_tamer, tetris_tamer
from tests.shaping.learners.trainings import GOOD, driven, mean_steps, placed


def test_mountain_car_is_learned_from_delayed_feedback_with_credit() -> None:
    """In five games; seeds 0 and 1."""
    for seed in (0, 1):
        tamer = mountain_car_tamer()
        driven(tamer, seed, n_games=5)
        assert mean_steps(tamer, n_starts=5) <= GOOD


def test_mountain_car_is_not_learned_without_feedback() -> None:
    tamer = mountain_car_tamer()
    assert driven(tamer, 0, n_games=2, trainer=None) == [1000, 1000]
    assert not tamer.model.weights.any()


def test_tetris_is_learned_with_an_intercept_only() -> None:
    """Lines of the third game of one seed."""
    assert placed(tetris_tamer(seed=4), 4)[2] >= 25
    assert placed(tetris_tamer(seed=4, intercept=0.0), 4)[2] <= 3


@pytest.mark.slow
def test_mountain_car_on_20_seeds() -> None:
    """Good are at least 16 with credit, at most 13 without, none without feedback."""

    def good(*, assigner: NextStep | None = None) -> int:
        found = 0
        for seed in range(20):
            tamer = mountain_car_tamer(assigner)
            driven(tamer, seed)
            found += mean_steps(tamer) <= GOOD
        return found

    assert good() >= 16
    assert good(assigner=NextStep()) <= 13
    tamer = mountain_car_tamer()
    driven(tamer, 0, trainer=None)
    assert mean_steps(tamer) == 1000


@pytest.mark.slow
def test_tetris_on_20_seeds() -> None:
    """Lines in the third game: at least 25 on the mean, without an intercept at most 3."""
    assert np.mean([placed(tetris_tamer(seed=seed), seed)[2] for seed in range(20)]) >= 25
    assert np.mean([placed(tetris_tamer(seed=seed, intercept=0.0), seed)[2] for seed in range(20)]) <= 3
