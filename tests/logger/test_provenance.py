"""Datasets record their origin, as far as it can be determined."""

import hashlib
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import dm_env
import gymnasium
import numpy as np
import pytest

from rlds_kit.logger import provenance


def test_registered_environment_is_described_in_full() -> None:
    """Id, keyword arguments, wrappers, and Gymnasium's own description."""
    env = gymnasium.wrappers.TimeAwareObservation(gymnasium.make("CartPole-v1", sutton_barto_reward=True))
    found = provenance.of_gymnasium(env)
    assert (found["interface"], found["id"]) == ("gymnasium", "CartPole-v1")
    assert found["kwargs"]["sutton_barto_reward"] is True
    assert [wrapper["name"] for wrapper in found["wrappers"]] == ["TimeAwareObservation"]
    assert found["spec"]["additional_wrappers"][0]["name"] == "TimeAwareObservation"
    assert found["class"] == "gymnasium.envs.classic_control.cartpole.CartPoleEnv"
    assert found["wrapper_classes"][0].endswith(".TimeAwareObservation")


def test_versions_of_what_is_in_play_are_noted() -> None:
    """Python, this library, NumPy and Gymnasium."""
    versions = provenance.of_gymnasium(gymnasium.make("CartPole-v1"))["versions"]
    assert versions["numpy"] == np.__version__
    assert versions["gymnasium"] == gymnasium.__version__
    assert {"python", "rlds_kit"} <= versions.keys()


def test_rom_is_identified_by_its_content() -> None:
    """Two ROMs with the same name are distinguished."""
    ale_py = pytest.importorskip("ale_py", reason="needs the extra `atari`")
    gymnasium.register_envs(ale_py)
    found = provenance.of_gymnasium(gymnasium.make("ALE/SpaceInvaders-v5"))
    content = Path(ale_py.roms.get_rom_path("space_invaders")).read_bytes()
    assert found["rom"]["name"] == "space_invaders"
    assert found["rom"]["sha256"] == hashlib.sha256(content).hexdigest()
    assert found["rom"]["md5"] == hashlib.md5(content, usedforsecurity=False).hexdigest()
    assert found["versions"]["ale_py"] == ale_py.__version__


def test_what_cannot_be_recorded_is_left_out() -> None:
    """A function among the keyword arguments costs its own entry, no more."""
    gymnasium.register("test/Strange-v0", lambda **_: gymnasium.make("CartPole-v1").unwrapped)
    try:
        found = provenance.of_gymnasium(gymnasium.make("test/Strange-v0", callback=print, speed=2))
    finally:
        del gymnasium.registry["test/Strange-v0"]
    assert (found["id"], found["kwargs"]) == ("test/Strange-v0", {"speed": 2})
    assert "spec" not in found


def test_broken_environment_is_described_as_far_as_it_goes() -> None:
    """Nothing about provenance stops a recording."""

    class Broken(gymnasium.Env[Any, Any]):
        @property
        def unwrapped(self) -> Any:
            raise RuntimeError("no")

        @property
        def spec(self) -> Any:  # type: ignore[override]  # raises instead
            raise RuntimeError("no")

    found = provenance.of_gymnasium(Broken())
    assert found.keys() == {"interface", "versions"}


def test_vector_environment_names_number_and_mode() -> None:
    found = provenance.of_vector(gymnasium.make_vec("CartPole-v1", num_envs=3, vectorization_mode="sync"))
    assert (found["num_envs"], found["autoreset_mode"], found["id"]) == (3, "NextStep", "CartPole-v1")


def test_sync_vector_environment_without_a_spec_is_named_after_its_first() -> None:
    """As when it is made from functions."""
    envs = gymnasium.vector.SyncVectorEnv([lambda: gymnasium.make("CartPole-v1")] * 2)
    assert provenance.of_vector(envs)["id"] == "CartPole-v1"


def test_vector_environment_whose_parts_are_no_environments_has_its_own_spec() -> None:
    """A simulator may have other things of that name."""
    envs = gymnasium.make_vec("CartPole-v1", num_envs=2, vectorization_mode="vector_entry_point")
    for parts in (np.zeros(2), [object()], [SimpleNamespace(spec="panda")], [], None):
        envs.unwrapped.envs = parts  # type: ignore[attr-defined]
        assert provenance.of_vector(envs)["id"] == "CartPole-v1"


def test_dm_env_is_described_by_class_and_versions() -> None:
    class Arm(dm_env.Environment):
        def reset(self) -> dm_env.TimeStep:
            return dm_env.TimeStep(dm_env.StepType.FIRST, None, None, 0)

        def step(self, action: Any) -> dm_env.TimeStep:
            return dm_env.TimeStep(dm_env.StepType.MID, 0.0, 1.0, 0)

        def observation_spec(self) -> None:
            pass

        def action_spec(self) -> None:
            pass

    found = provenance.of_dm_env(Arm())
    assert found["interface"] == "dm_env"
    assert found["class"].endswith("Arm")
    assert "dm_env" in found["versions"]
