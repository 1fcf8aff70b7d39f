"""Making recorded environments again."""

from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.base import environment
from rlds_kit.logger import GymnasiumLogger, VectorLogger


@pytest.mark.parametrize("mode", ["sync", "async", "vector_entry_point"])
@pytest.mark.parametrize(("options", "limit"), [({}, 500), ({"max_episode_steps": 7, "disable_env_checker": True}, 7)])
def test_a_sub_environment_of_a_vector_environment(
    tmp_path: Path, mode: str, options: dict[str, Any], limit: int
) -> None:
    """Without what only `make_vec` understands, and with the limit of steps."""
    if mode == "vector_entry_point":
        options = {name: item for name, item in options.items() if name == "max_episode_steps"}
    envs = gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode=mode, **options)
    with VectorLogger(envs, tmp_path / "d") as logged:
        logged.reset(seed=5)
        logged.step(np.zeros(3, np.int64))
    dataset = rlds_kit.open(tmp_path / "d")
    env = dataset.make_env()
    assert isinstance(env, gymnasium.Env)
    assert env.spec is not None
    assert env.spec.max_episode_steps == limit
    first = dataset.episodes[0]
    observation, _ = env.reset(seed=first.seed)
    if mode != "vector_entry_point":  # which computes in another order
        assert np.array_equal(observation, first.steps[0]["observation"])


def test_a_sub_environment_without_a_spec() -> None:
    """An id and keyword arguments are enough."""
    kwargs = {"num_envs": 2, "vectorization_mode": "sync", "max_episode_steps": 7}
    env = environment.make({"interface": "gymnasium.vector", "id": "CartPole-v1", "kwargs": kwargs})
    assert env.spec.max_episode_steps == 7


def test_an_environment_whose_wrappers_were_not_recorded_is_not_made(tmp_path: Path) -> None:
    """Without them it would be another one."""
    env = gymnasium.wrappers.TransformReward(gymnasium.make("CartPole-v1"), float)
    with GymnasiumLogger(env, tmp_path / "d") as logged:
        logged.reset(seed=5)
        logged.step(0)
    with pytest.raises(environment.NotRebuiltError, match="TransformReward"):
        rlds_kit.open(tmp_path / "d").make_env()
    for wrappers in ("odd", 7, [7]):  # of a dataset that another program wrote
        with pytest.raises(environment.NotRebuiltError, match="its wrappers"):
            environment.make({"id": "CartPole-v1", "wrappers": wrappers})
