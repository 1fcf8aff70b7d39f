"""Pictures of possible next steps, against the steps that are then done."""

import copy
from typing import Any, Final

import ale_py
import gymnasium
import numpy as np
import pytest
from gymnasium.wrappers import TransformAction

from rlds_kit.trials.environments.look_ahead import LookAhead, look_ahead_of

gymnasium.register_envs(ale_py)
STEPS: Final = 25
EXACT: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("ALE/Breakout-v5", {"repeat_action_probability": 0.0}),
    ("ALE/Breakout-v5", {"repeat_action_probability": 0.0, "frameskip": (2, 6)}),
    ("ALE/SpaceInvaders-v5", {"repeat_action_probability": 0.0, "obs_type": "ram"}),
    ("ALE/MontezumaRevenge-v5", {"repeat_action_probability": 0.0, "frameskip": 1}),
    ("CartPole-v1", {}),
    ("MountainCar-v0", {}),
    ("Acrobot-v1", {}),
    ("FrozenLake-v1", {"is_slippery": True}),
    ("FrozenLake-v1", {"render_mode": "ansi"}),
    ("CliffWalking-v1", {"is_slippery": True}),
    ("Taxi-v4", {"is_rainy": True, "fickle_passenger": True}),
    ("Blackjack-v1", {}),
)
STICKY: Final[tuple[tuple[str, dict[str, Any]], ...]] = (
    ("ALE/Breakout-v5", {}),
    ("ALE/SpaceInvaders-v5", {"frameskip": 1}),
)
"""With sticky actions (0.25), as these are by default."""


def make(name: str, **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """An environment that draws."""
    return gymnasium.make(name, **{"render_mode": "rgb_array", **kwargs})


def mistakes(name: str, kwargs: dict[str, Any], steps: int) -> int:
    """How many of the pictures ahead were not what the steps then showed, with random actions."""
    env, chance, wrong = make(name, **kwargs), np.random.default_rng(3), 0
    ahead = look_ahead_of(env, lambda: make(name, **kwargs))
    assert ahead is not None
    env.reset(seed=4)
    env.render()
    ahead.moved(None)
    count = int(env.action_space.n)  # type: ignore[attr-defined]  # it is a Discrete
    for _ in range(steps):
        pictures = [ahead.picture(action) for action in range(count)]
        action = int(chance.integers(count))
        *_, terminated, truncated, _ = env.step(action)
        ahead.moved(action)
        wrong += not np.array_equal(np.asarray(pictures[action]), np.asarray(env.render()))
        if terminated or truncated:
            env.reset()
            env.render()
            ahead.moved(None)
    ahead.close()
    env.close()
    return wrong


@pytest.mark.parametrize(("name", "kwargs"), EXACT)
def test_a_picture_ahead_is_what_the_step_shows_bit_by_bit(name: str, kwargs: dict[str, Any]) -> None:
    """Also where chance decides: the twin has the state of the random numbers."""
    assert mistakes(name, kwargs, STEPS) == 0


@pytest.mark.parametrize(("name", "kwargs"), STICKY)
def test_with_sticky_actions_it_nearly_always_is(name: str, kwargs: dict[str, Any]) -> None:
    """What a console did last is not in its state, so the twin may be wrong after an action that stuck till the end."""
    assert mistakes(name, kwargs, 80) <= 6


@pytest.mark.parametrize(("name", "kwargs"), [EXACT[0], STICKY[0], EXACT[4], EXACT[7], EXACT[10]])
def test_the_environment_goes_on_as_without_looking_ahead(name: str, kwargs: dict[str, Any]) -> None:
    """Pictures, observations, rewards and all that chance decides are those of another run without pictures ahead."""
    runs = []
    for looks in (False, True):
        env = make(name, **kwargs)
        ahead = look_ahead_of(env, lambda: make(name, **kwargs))
        assert ahead is not None
        seen: list[Any] = [env.reset(seed=11)[0]]
        chance = np.random.default_rng(5)
        for _ in range(20):
            for action in range(int(env.action_space.n)) if looks else ():  # type: ignore[attr-defined]  # it is a Discrete
                ahead.picture(action)
            action = int(chance.integers(env.action_space.n))  # type: ignore[attr-defined]  # it is a Discrete
            observation, reward, terminated, truncated, info = env.step(action)
            ahead.moved(action)
            seen.append(copy.deepcopy((observation, reward, terminated, truncated, info, env.render())))
            if terminated or truncated:
                seen.append(env.reset()[0])
                ahead.moved(None)
        seen.append(env.unwrapped.np_random.bit_generator.state)
        runs.append(seen)
    np.testing.assert_equal(runs[1], runs[0])


@pytest.mark.parametrize("name", ["Pendulum-v1", "rlds_kit_tests/Corridor-v0"])
def test_others_have_no_pictures_ahead(name: str) -> None:
    """Numbers as actions, and environments whose state cannot be copied."""
    import tests.trials.environments.odd_environments  # noqa: F401  registers one

    assert look_ahead_of(make(name), lambda: None) is None


def test_an_environment_with_a_wrapper_of_its_own_has_none() -> None:
    """It may do something else with an action, or draw something else."""
    env = make("CartPole-v1")
    assert isinstance(look_ahead_of(env, lambda: None), LookAhead)
    flipped: Any = TransformAction(env, lambda action: 1 - action, env.action_space)
    assert look_ahead_of(flipped, lambda: None) is None
    assert look_ahead_of(gymnasium.make("CartPole-v1"), lambda: None) is None
