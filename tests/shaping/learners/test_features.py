"""Features of observations and actions."""

import numpy as np
import pytest

from rlds_kit.shaping.learners import Normaliser, PerAction, RadialBasis


def test_bounds_become_minus_1_and_1() -> None:
    normaliser = Normaliser.of_range([-1.2, -0.07], [0.6, 0.07])
    assert normaliser(np.array([[-1.2, 0.07], [-0.3, 0.0]])) == pytest.approx(np.array([[-1, 1], [0, 0]]))


def test_bounds_that_are_none_are_an_error() -> None:
    with pytest.raises(ValueError, match="expected finite bounds, each low below its high"):
        Normaliser.of_range([0.0], [float("inf")])


def test_bumps_are_highest_where_the_observation_is() -> None:
    """Neighbours of a bump are lower by exp(-1/2); a place far away is not touched."""
    basis = RadialBasis([-1.2, -0.07], [0.6, 0.07], per_dimension=4)
    found = basis([-1.2, -0.07]).reshape(4, 4)
    assert found[0, 0] == 1.0
    assert found[0, 1] == found[1, 0] == pytest.approx(np.exp(-0.5))
    assert found[3, 3] < 0.001
    assert basis.size == 16


def test_actions_share_no_features() -> None:
    features = PerAction(lambda observation: np.array([observation]), 1, n_actions=3, intercept=2.0)
    actions, rows = features.choices(7.0)
    assert list(actions) == [0, 1, 2]
    assert rows.tolist() == [[7, 2, 0, 0, 0, 0], [0, 0, 7, 2, 0, 0], [0, 0, 0, 0, 7, 2]]
    assert features.of(7.0, np.int64(1)).tolist() == rows[1].tolist()


@pytest.mark.parametrize("action", [-1, 2, 0.5])
def test_other_actions_have_no_features(action: float) -> None:
    features = PerAction(lambda observation: np.ones(1), 1, n_actions=2)
    with pytest.raises(ValueError, match="expected an action from 0 to 1"):
        features.of(0.0, action)


@pytest.mark.parametrize("observation", [0.5, [0.5], [0.5, float("nan")], [[0.5, 0.5]]], ids=str)
def test_other_observations_have_no_bumps(observation: object) -> None:
    """A single number is not stretched to all dimensions."""
    with pytest.raises(ValueError, match="expected an observation of 2 finite numbers"):
        RadialBasis([0, 0], [1, 1], per_dimension=2)(observation)
    with pytest.raises(ValueError, match="at least 2 bumps"):
        RadialBasis([0, 0], [1, 1], per_dimension=1)
