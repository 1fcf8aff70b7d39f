"""How people act in the environments that there are."""

import gymnasium
import numpy as np
import pytest
from gymnasium import spaces

from rlds_kit.trials.environments.controls import controls_of


@pytest.mark.parametrize("game", ["CartPole-v1", "MountainCar-v0", "Acrobot-v1", "FrozenLake-v1", "Taxi-v4"])
def test_every_discrete_action_has_a_key(game: str) -> None:
    """What keys give are actions of the space; nothing pressed is one too."""
    with gymnasium.make(game) as env:
        controls = controls_of(env)
        assert isinstance(env.action_space, spaces.Discrete)
        assert {action for _, action, _ in controls.actions} == set(range(int(env.action_space.n)))
        assert env.action_space.contains(controls.default)
        for keys, action, _ in controls.actions:
            assert controls.controller().act(dict.fromkeys(keys, 1.0)) == action


def test_atari_has_the_names_of_its_actions() -> None:
    """To be shown beside the keys."""
    ale_py = pytest.importorskip("ale_py")
    gymnasium.register_envs(ale_py)
    with gymnasium.make("ALE/Pong-v5") as env:
        controls = controls_of(env)
    named = {name: keys for keys, _, name in controls.actions}
    assert named["RIGHTFIRE"] == ("ArrowRight", "Space")


@pytest.mark.parametrize("game", ["Pendulum-v1", "MountainCarContinuous-v0"])
def test_boxes_are_moved_within_their_bounds(game: str) -> None:
    """By keys to the bounds, by sticks anywhere between, by nothing not at all."""
    with gymnasium.make(game) as env:
        controls = controls_of(env)
        space = env.action_space
    assert isinstance(space, spaces.Box)
    controller = controls.controller()
    np.testing.assert_array_equal(controller.act({"ArrowRight": 1.0}), space.high)
    np.testing.assert_array_equal(controller.act({"ArrowLeft": 1.0}), space.low)
    assert space.contains(controller.act({"Axis0": 0.3}))
    assert np.asarray(controller.act({})).tolist() == list(controls.default)


def test_what_cannot_be_played_is_refused() -> None:
    """Text, say, or seventeen joints."""
    with gymnasium.make("CartPole-v1") as env:
        for space in (spaces.Text(5), spaces.Box(-1, 1, (17,)), spaces.MultiDiscrete([3, 3])):
            with pytest.raises(ValueError, match="for people to play"):
                controls_of(env, space)
