"""Actors by file: they act as their model says, and a file with another hash is refused."""

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.trials import (
    ActorClass,
    ActorConfig,
    ActorInfo,
    EnvironmentSpec,
    Status,
    TrialHost,
    TrialSetup,
    run_trials,
)
from rlds_kit.trials.models import ModelRegistry, PolicyActor, with_models
from tests.trials.hosts.running import run
from tests.trials.models.policies import onnx_policy, pole_policy, torch_policy

MAKERS = {".onnx": onnx_policy, ".pt2": torch_policy}
ACTOR = "rlds_kit.trials.models:PolicyActor"


def _setup(config: dict[str, Any], **settings: Any) -> TrialSetup:
    actor = ActorConfig(implementation=ACTOR, config=config)
    return TrialSetup(
        environment=EnvironmentSpec("CartPole-v1"), actors={"player": actor}, **{"seed": 1, "max_steps": 60, **settings}
    )


def _file(folder: Path, suffix: str, action: int = 1) -> dict[str, Any]:
    content = MAKERS[suffix](pole_policy(action))
    path = folder / f"pole{action}{suffix}"
    path.write_bytes(content)
    return {"path": str(path), "sha256": hashlib.sha256(content).hexdigest()}


@pytest.mark.parametrize("suffix", [".onnx", pytest.param(".pt2", marks=pytest.mark.thorough)])
def test_g23_a_file_with_its_hash_acts(suffix: str, tmp_path: Path) -> None:
    """It balances the pole, and each action is the one that the weights give."""
    (trial,) = run_trials(_setup(_file(tmp_path, suffix)), 1, directory=tmp_path / "data", is_here=True)
    assert (trial.status, trial.steps) == (Status.COMPLETED, 60)
    for step in list(rlds_kit.open(tmp_path / "data").episodes[0].steps)[:-1]:
        assert step["action"] == np.argmax(step["observation"] @ pole_policy(1))


@pytest.mark.parametrize("sha256", ["0" * 64, "", None])
def test_g23_another_hash_is_refused(sha256: str | None, tmp_path: Path) -> None:
    """The trial ends with the reason, and nothing of the file was used."""
    config = {**_file(tmp_path, ".onnx", 0), "sha256": sha256}
    if sha256 is None:
        del config["sha256"]
    (trial,) = run_trials(_setup(config), 1, is_here=True)
    assert (trial.status, trial.steps) == (Status.ABANDONED, 0)
    assert "expected the SHA-256" in trial.reason


def test_g23_a_new_version_acts_from_the_next_trial_on(tmp_path: Path) -> None:
    """The trial that runs keeps its version; each one records which it had, and whoever pins a version keeps it."""
    registry = ModelRegistry(tmp_path / "models")
    good = registry.push("pole", onnx_policy(pole_policy(1)), suffix=".onnx")

    async def play() -> list[int]:
        async with TrialHost(tmp_path / "data", is_here=True, hooks=[with_models(registry.place)]) as host:
            first = await host.start(_setup({"model": "pole"}, max_steps=200))
            async for state in host.watch():
                if state.step >= 3:
                    break
            registry.push("pole", onnx_policy(pole_policy(0)), suffix=".onnx")
            second = await host.start(_setup({"model": "pole"}))
            pinned = await host.start(_setup({"model": "pole", "version": 1}))
            return [(await host.result(each)).steps for each in (first, second, pinned)]

    first, second, third = run(play)
    assert (first, third) == (200, 60)
    assert second < 20  # it goes against the pole
    models = [each.metadata["properties"]["models"]["player"] for each in rlds_kit.open(tmp_path / "data").episodes]
    assert sorted(each["number"] for each in models) == [1, 1, 2]
    assert {"name": "pole", "number": 1, "sha256": good.sha256} in models


def test_an_actor_looks_the_latest_version_up_itself(tmp_path: Path) -> None:
    """Also without the hook, as in a process on another machine."""
    registry = ModelRegistry(tmp_path)
    config = {"registry": str(tmp_path), "model": "pole"}
    (refused,) = run_trials(_setup(config), 1, is_here=True)
    assert "has no version" in refused.reason
    registry.push("pole", onnx_policy(pole_policy(1)), suffix=".onnx")
    (trial,) = run_trials(_setup(config), 1, is_here=True)
    assert trial.steps == 60


def test_a_hook_leaves_other_actors_alone(tmp_path: Path) -> None:
    setup = dataclasses.replace(_setup({}), actors={"player": "random"})

    async def hooked() -> TrialSetup:
        return await with_models(tmp_path)(setup)

    assert run(hooked) == setup


def test_continuous_actions_are_cut_and_discrete_ones_can_be_drawn(tmp_path: Path) -> None:
    """A sample follows from the seed."""
    config = _file(tmp_path, ".onnx")
    box = ActorClass("arm", gymnasium.spaces.Box(-9, 9, (4,)), gymnasium.spaces.Box(-1, 1, (2,), np.float64))
    arm = PolicyActor()
    arm.reset(ActorInfo(trial="1", seat="arm", actor_class=box, seed=0, config=config))
    action = arm.act(np.array([0, 0, 0.5, 3]), None, ())
    assert box.contains(action)
    assert action.tolist() == [-1, 1]
    coin = dataclasses.replace(box, action_space=gymnasium.spaces.Discrete(2))
    draws = []
    for seed in (0, 0, 1):
        info = ActorInfo(trial="1", seat="coin", actor_class=coin, seed=seed, config={**config, "choice": "sample"})
        arm.reset(info)
        draws.append([int(arm.act(np.array([0, 0, 0, 0.1]), None, ())) for _ in range(40)])
    assert draws[0] == draws[1] != draws[2]
    assert {0, 1} == set(draws[0])
