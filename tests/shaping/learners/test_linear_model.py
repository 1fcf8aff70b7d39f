"""Linear models and replay."""

import numpy as np
import pytest

from rlds_kit.shaping.credit import Label
from rlds_kit.shaping.learners import LinearModel, NormalisedLinearModel, Replay

FEATURES = np.array([3.0, 4.0, 0.0])


def test_a_step_follows_the_gradient() -> None:
    model = LinearModel(3, step_size=0.01)
    model.update(Label(FEATURES, 2.0, 0.5))
    assert model.weights == pytest.approx(0.01 * 0.5 * 2.0 * FEATURES)
    assert model.predict(np.stack([FEATURES, np.zeros(3)])) == pytest.approx([0.25, 0.0])


def test_a_normalised_step_corrects_a_share_of_the_error() -> None:
    """Whatever the length of the features."""
    for scale in (0.01, 1.0, 100.0):
        model = NormalisedLinearModel(3, step_size=0.2)
        model.update(Label(scale * FEATURES, 1.0, 1.0))
        assert model.predict(scale * FEATURES[None])[0] == pytest.approx(0.2)


def test_features_of_nothing_change_nothing() -> None:
    model = NormalisedLinearModel(3)
    model.update(Label(np.zeros(3), 1.0, 1.0))
    assert model.weights.tolist() == [0, 0, 0]


def test_weights_that_another_thread_has_do_not_change() -> None:
    model = LinearModel(3)
    before = model.weights
    model.update(Label(FEATURES, 1.0, 1.0))
    assert before.tolist() == [0, 0, 0]
    assert model.weights is not before


def test_a_step_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match="step_size: expected a positive number, got 0"):
        LinearModel(1, step_size=0)


@pytest.mark.parametrize("features", [np.ones(1), np.ones((1, 3)), np.ones(4)])
def test_features_of_another_shape_are_an_error(features: np.ndarray) -> None:
    """One number would stand for all of them."""
    model = LinearModel(3)
    with pytest.raises(ValueError, match=r"expected features of shape \(3,\), one for each weight, got"):
        model.update(Label(features, 1.0, 1.0))
    assert model.weights.tolist() == [0, 0, 0]


def test_replay_draws_the_same_again_from_its_state() -> None:
    """And never removed ones."""
    first, second = Replay(repeats=50, capacity=3, seed=1), Replay(repeats=50, capacity=3)
    first.add([Label(np.array([float(each)]), float(each), 1.0) for each in range(5)])
    first.drawn()
    second.load(first.state())
    targets = [each.target for each in first.drawn()]
    assert targets == [each.target for each in second.drawn()]
    assert set(targets) == {2.0, 3.0, 4.0}


def test_replay_of_nothing_is_nothing() -> None:
    assert Replay().drawn() == []
