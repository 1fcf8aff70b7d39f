"""A model of the trainer learns the feedback, and replaces the trainer when it stops."""

import numpy as np
import pytest

from rlds_kit.shaping import deep


def test_it_takes_over_when_the_trainer_stops() -> None:
    """Not before the first feedback, and not within the patience after the latest."""
    model = deep.TrainerModel(deep.perceptron(2, 2, seed=0), patience=5.0)
    assert not model.has_taken_over(100.0)
    model.saw(np.zeros(2), 0, 1.0, time=100.0)
    model.saw(np.zeros(2), 0, 1.0, time=99.0)  # events may arrive late
    assert not model.has_taken_over(105.0)
    assert model.has_taken_over(105.1)
    model.saw(np.zeros(2), 0, 1.0, time=106.0)  # the trainer is back
    assert not model.has_taken_over(107.0)


def test_it_gives_what_the_trainer_would() -> None:
    """Pushing along the velocity is good; samples without weight do not matter."""
    model, random = deep.TrainerModel(deep.perceptron(2, 16, 2, seed=0)), np.random.default_rng(0)
    for step in range(300):
        state, action = random.uniform(-1, 1, 2), int(random.integers(2))
        value = 1.0 if action == (state[1] > 0) else -1.0
        model.saw(state, action, value if step % 3 else -value, float(step), weight=float(step % 3 > 0))
    model.learn(400)
    right = [model.feedback(np.array([0.0, speed]), int(speed > 0)) for speed in (-0.5, 0.5)]
    wrong = [model.feedback(np.array([0.0, speed]), int(speed <= 0)) for speed in (-0.5, 0.5)]
    assert min(right) > 0.5 > -0.5 > max(wrong)


def test_without_feedback_there_is_nothing_to_learn() -> None:
    with pytest.raises(ValueError, match="got 0 labels"):
        deep.TrainerModel(deep.perceptron(2, 2, seed=0)).learn(1)
    with pytest.raises(ValueError, match="more than 0"):
        deep.TrainerModel(deep.perceptron(2, 2, seed=0), patience=0.0)
