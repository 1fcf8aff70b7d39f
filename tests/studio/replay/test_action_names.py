"""Numbers of actions and their names."""

import doctest

import pytest

from rlds_kit.studio.replay import action_names
from rlds_kit.studio.replay.action_names import names_of

ATARI = "ale_py.env.AtariEnv"


def test_examples() -> None:
    """The documentation's examples are right."""
    assert doctest.testmod(action_names, extraglobs={"names_of": names_of}).failed == 0


@pytest.mark.parametrize("full", [False, True])
def test_atari_as_the_emulator_says(full: bool) -> None:
    """Breakout has four actions, or all eighteen, with the names of the environment itself."""
    import ale_py
    import gymnasium

    gymnasium.register_envs(ale_py)
    with gymnasium.make("ALE/Breakout-v5", full_action_space=full) as env:
        meanings = tuple(env.unwrapped.get_action_meanings())  # type: ignore[attr-defined]
    kwargs = {"game": "breakout", "full_action_space": full}
    assert names_of({"class": ATARI, "kwargs": kwargs}) == meanings


@pytest.mark.parametrize(
    ("environment", "count"),
    [
        ("CartPole-v1", 2),
        ("MountainCar-v0", 3),
        ("Acrobot-v1", 3),
        ("FrozenLake8x8-v1", 4),
        ("CliffWalking-v1", 4),
        ("Taxi-v4", 6),
        ("Blackjack-v1", 2),
    ],
)
def test_every_action_has_a_name(environment: str, count: int) -> None:
    """There are as many names as actions."""
    import gymnasium

    with gymnasium.make(environment) as env:
        assert env.action_space.n == count  # type: ignore[attr-defined]
    assert len(names_of({"id": environment})) == count


def test_unknown_environments_have_no_names() -> None:
    """An unknown environment, a missing game, or no provenance."""
    assert names_of({}) == ()
    assert names_of({"id": "Mine-v0"}) == ()
    assert names_of({"class": ATARI, "kwargs": {"game": "no such game"}}) == ()
