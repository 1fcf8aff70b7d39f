"""An agent for any environment with numbered actions."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlds_kit.shaping.credit import NextStep
from rlds_kit.shaping.learners import Tamer, general_tamer


class Space(gymnasium.Env[object, object]):
    """Nothing but its spaces."""

    def __init__(self, observation: spaces.Space[object], action: spaces.Space[object]) -> None:
        self.observation_space, self.action_space = observation, action


@pytest.mark.parametrize(
    ("space", "size"),
    [
        (spaces.Discrete(16, start=-3), 16),
        (spaces.Box(-1, 1, (2,), np.float32), 144),
        (spaces.Box(-np.inf, np.inf, (4,), np.float32), 256),
        (spaces.Box(-np.inf, np.inf, (2, 8), np.float64), 32),
        (spaces.Box(0, 255, (210, 160, 3), np.uint8), 128),
        (spaces.Box(0, 255, (84, 84), np.uint8), 128),
    ],
)
def test_every_observation_of_a_space_has_finite_features(space: spaces.Space[object], size: int) -> None:
    """And feedback about one action changes what is predicted for it."""
    space.seed(0)
    tamer: Tamer = general_tamer(Space(space, spaces.Discrete(3)))
    assert tamer.features.size == 3 * (size + 1)
    for _ in range(3):
        _, features = tamer.features.choices(space.sample())
        assert np.isfinite(features).all()
        assert np.abs(features).max() <= 1


def test_pictures_of_another_brightness_have_other_features() -> None:
    env = Space(spaces.Box(0, 255, (84, 84), np.uint8), spaces.Discrete(2))
    features = general_tamer(env).features
    half = np.zeros((84, 84), np.uint8)
    half[:42] = 255
    block = features.choices(half)[1][0, :64].reshape(8, 8)
    assert block.mean(axis=1).round(1).tolist() == [1, 1, 1, 1, 0, 0, 0, 0]


@pytest.mark.parametrize(
    ("observation", "action", "message"),
    [
        (spaces.Dict(), spaces.Discrete(2), "expected observations of numbers, Box or Discrete, got Dict"),
        (spaces.Discrete(2), spaces.Box(0, 1), "expected numbered actions from 0 on"),
    ],
)
def test_other_spaces_are_errors(observation: spaces.Space[object], action: spaces.Space[object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        general_tamer(Space(observation, action))


def test_it_assigns_credit_to_what_was_shown_some_tenths_of_a_second_ago() -> None:
    assert general_tamer(gymnasium.make("CartPole-v1")).assigner != NextStep()
