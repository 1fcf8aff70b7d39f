"""The provenance of episodes: environment, wrappers, versions, ROM.

Unknown entries are left out; nothing here raises.
"""

import contextlib
import hashlib
import json
import platform
import sys
from collections.abc import Iterator, Mapping
from importlib import metadata as distributions
from pathlib import Path
from typing import Any, Final

import dm_env
import gymnasium
from gymnasium.envs.registration import EnvSpec

from rlds_kit import __version__
from rlds_kit.base.errors import UnsupportedTypeError
from rlds_kit.spec import value

SIMULATORS: Final = ("ale_py", "mujoco", "dm_control", "Box2D", "pygame", "pybullet", "minigrid", "procgen")
"""Modules whose versions are recorded if they are loaded."""


def of_gymnasium(env: gymnasium.Env[Any, Any]) -> dict[str, Any]:
    """The provenance of a Gymnasium environment.

    Returns:
      `interface`, `class` and `versions`; for a registered environment also `id`, `kwargs`, `wrappers` and the whole
      `spec` as Gymnasium's JSON; for an Atari game `rom` with its name, SHA-256 and MD5.

    >>> of_gymnasium(gymnasium.make("CartPole-v1", max_episode_steps=7))["id"]
    'CartPole-v1'
    """
    found: dict[str, Any] = {"interface": "gymnasium"}
    with contextlib.suppress(Exception):
        found |= {"class": _name(env.unwrapped), "wrapper_classes": [_name(layer) for layer in _layers(env)]}
    found["versions"] = _versions("gymnasium", *_modules(env))
    with contextlib.suppress(Exception):
        found |= _of_spec(env.spec)
    return found


def of_vector(envs: gymnasium.vector.VectorEnv[Any, Any, Any]) -> dict[str, Any]:
    """The provenance of a vector environment: as `of_gymnasium`, with `num_envs` and `autoreset_mode`."""
    found: dict[str, Any] = {"interface": "gymnasium.vector", "num_envs": envs.num_envs}
    with contextlib.suppress(Exception):
        found["autoreset_mode"] = gymnasium.vector.AutoresetMode(envs.metadata["autoreset_mode"]).value
    with contextlib.suppress(Exception):
        found |= {"class": _name(envs.unwrapped), "wrapper_classes": [_name(layer) for layer in _layers(envs)]}
    found["versions"] = _versions("gymnasium", *_modules(envs))
    with contextlib.suppress(Exception):
        # Only local data: a request to the processes of an AsyncVectorEnv could kill one of them. The spec of a vector
        # environment lacks wrappers that `make_vec` has put around each of its environments.
        own = getattr(envs.unwrapped, "envs", None)
        first = getattr(own[0], "spec", None) if isinstance(own, list | tuple) and own else None
        found |= _of_spec(first if isinstance(first, EnvSpec) else envs.spec)
    return found


def of_dm_env(env: dm_env.Environment) -> dict[str, Any]:
    """The provenance of a dm_env environment: `interface`, `class` and `versions`."""
    return {
        "interface": "dm_env",
        "class": _name(env),
        "versions": _versions("dm_env", type(env).__module__.partition(".")[0]),
    }


def of_pettingzoo(env: Any, interface: str) -> dict[str, Any]:  # ParallelEnv and AECEnv alike
    """The provenance of a PettingZoo environment: `interface`, `class`, `name`, `possible_agents` and `versions`."""
    found: dict[str, Any] = {"interface": interface}
    with contextlib.suppress(Exception):
        found["class"] = _name(env.unwrapped)
    with contextlib.suppress(Exception):
        found["wrapper_classes"] = [_name(layer) for layer in _layers(env)]
    with contextlib.suppress(Exception):
        found["name"] = str(env.metadata["name"])
    with contextlib.suppress(Exception):
        found |= recordable({"possible_agents": list(env.possible_agents)})
    found["versions"] = _versions("pettingzoo", "gymnasium", *_modules(env))
    return found


def _of_spec(spec: EnvSpec | None) -> dict[str, Any]:
    if spec is None:
        return {}
    kwargs = recordable(spec.kwargs)
    found: dict[str, Any] = {"id": spec.id, "kwargs": kwargs, "wrappers": [], "spec": {}}
    with contextlib.suppress(Exception):
        found["spec"] = json.loads(spec.to_json())  # raises if the environment cannot be made from its JSON
    for wrapper in spec.additional_wrappers:
        arguments = recordable(wrapper.kwargs or {})
        found["wrappers"].append({"name": wrapper.name, "entry_point": wrapper.entry_point, "kwargs": arguments})
    if not found["spec"]:
        del found["spec"]
    with contextlib.suppress(Exception):
        found |= _rom(kwargs.get("game"))
    return found


def recordable(items: Mapping[str, Any]) -> dict[str, Any]:
    """The items whose values can be recorded.

    >>> recordable({"gravity": 9.81, "callback": print})
    {'gravity': 9.81}
    """
    found = {}
    for key, item in items.items():
        with contextlib.suppress(UnsupportedTypeError):
            value.encode(item)
            found[key] = item
    return found


def _rom(game: object) -> dict[str, Any]:
    """The ROM of a game of ALE, if ale_py is loaded."""
    if not isinstance(game, str) or "ale_py" not in sys.modules:
        return {}
    from ale_py import roms

    path = roms.get_rom_path(game)
    if path is None:
        return {}
    content = Path(path).read_bytes()
    md5 = hashlib.md5(content, usedforsecurity=False).hexdigest()  # the hash by which ALE identifies ROMs
    return {"rom": {"name": game, "sha256": hashlib.sha256(content).hexdigest(), "md5": md5}}


def _layers(env: Any) -> Iterator[object]:  # Env and VectorEnv alike
    """The wrappers around an environment, outermost first."""
    while env is not env.unwrapped:
        yield env
        env = env.env


def _modules(env: Any) -> list[str]:  # Env and VectorEnv alike
    """The top-level modules of the environment and its wrappers."""
    found = {}
    with contextlib.suppress(Exception):
        for layer in (*_layers(env), env.unwrapped):
            found[type(layer).__module__.partition(".")[0]] = True
    return list(found)


def _versions(*modules: str) -> dict[str, str]:
    """Versions of Python, of the given modules, and of loaded simulators."""
    found = {"python": platform.python_version(), "rlds_kit": __version__}
    for module in dict.fromkeys(("numpy", *modules, *(name for name in SIMULATORS if name in sys.modules))):
        version = _version(module)
        if version is not None and module not in found:
            found[module] = version
    return found


def _version(module: str) -> str | None:
    stated = getattr(sys.modules.get(module), "__version__", None)
    if isinstance(stated, str):
        return stated
    try:
        return distributions.version(module)  # names of distributions ignore - and _
    except Exception:  # noqa: BLE001  provenance must never stop a recording
        return None


def _name(thing: object) -> str:
    return f"{type(thing).__module__}.{type(thing).__qualname__}"
