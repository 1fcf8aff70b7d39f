"""Sound recordings of real environments: false alarms are worse than misses."""

from pathlib import Path
from typing import Any

import gymnasium
import pytest
from gymnasium.vector import AutoresetMode

from rlds_kit.lint import RULES, Severity, lint
from rlds_kit.logger import GymnasiumLogger, PettingZooLogger, VectorLogger

DATA = Path(__file__).parent.parent / "data"
GAMES = [
    *("CartPole-v1", "MountainCar-v0", "Acrobot-v1", "Pendulum-v1", "MountainCarContinuous-v0"),
    *("FrozenLake-v1", "Taxi-v4", "Blackjack-v1", "CliffWalking-v1"),
]
ATARI = [("Breakout", "rgb"), ("Pong", "grayscale"), ("Freeway", "ram"), ("SpaceInvaders", "rgb")]


def _record(directory: Path, game: str, *, episodes: int, steps: int, **arguments: Any) -> Path:
    with GymnasiumLogger(gymnasium.make(game, **arguments), directory) as env:
        env.action_space.seed(0)
        for number in range(episodes):
            env.reset(seed=None if number else 0)
            for _ in range(steps):
                _, _, terminated, truncated, _ = env.step(env.action_space.sample())
                if terminated or truncated:
                    break
    return directory


def _alarms(path: Path) -> list[str]:
    """Errors and warnings."""
    report = lint(path)
    return [str(each) for each in (*report.errors, *report.warnings)]


@pytest.mark.parametrize("game", GAMES)
def test_gymnasium(tmp_path: Path, game: str) -> None:
    """No error and no warning."""
    assert _alarms(_record(tmp_path / "d", game, episodes=60 if game in GAMES[-4:] else 12, steps=300)) == []


@pytest.mark.thorough
@pytest.mark.parametrize(("game", "kind"), ATARI)
def test_atari(tmp_path: Path, game: str, kind: str) -> None:
    """No error and no warning."""
    gymnasium.register_envs(pytest.importorskip("ale_py"))
    assert _alarms(_record(tmp_path / "d", f"ALE/{game}-v5", episodes=3, steps=150, obs_type=kind)) == []


@pytest.mark.parametrize("mode", [AutoresetMode.NEXT_STEP, AutoresetMode.SAME_STEP])
def test_vector(tmp_path: Path, mode: AutoresetMode) -> None:
    """No error; an episode that was just begun when all was closed has no action."""
    envs = gymnasium.make_vec("CartPole-v1", 3, vectorization_mode="sync", vector_kwargs={"autoreset_mode": mode})
    with VectorLogger(envs, tmp_path / "d") as logged:
        logged.action_space.seed(0)
        logged.reset(seed=3)
        for _ in range(200):
            logged.step(logged.action_space.sample())
    report = lint(tmp_path / "d")
    assert (report.errors, {each.rule for each in report.warnings} - {"RK604"}) == ((), set())


def test_several_agents(tmp_path: Path) -> None:
    """No error and no warning."""
    simple_spread = pytest.importorskip("mpe2.simple_spread_v3")
    with PettingZooLogger(simple_spread.parallel_env(max_cycles=20), tmp_path / "d") as env:
        for number in range(6):
            env.reset(seed=number)
            for agent in env.agents:
                env.action_space(agent).seed(number)
            while env.agents:
                env.step({agent: env.action_space(agent).sample() for agent in env.agents})
    assert _alarms(tmp_path / "d") == []


def test_sample_that_comes_with_the_tests() -> None:
    assert _alarms(DATA / "atari_agents" / "breakout") == []


def test_sample_with_every_kind_of_value() -> None:
    """It holds NaN and discounts of 1 at terminal steps on purpose: nothing else is an error."""
    found = {each.rule for each in lint(DATA / "v1" / "dataset").findings if each.severity is Severity.ERROR}
    assert found == {"RK210", "RK301"}
    assert found <= RULES.keys()
