"""Makes the environment of an episode again, or explains why that is impossible.

Calls only code that is already known to this process; see `rlds_kit.base.environment`.
"""

import importlib.metadata
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import gymnasium

from rlds_kit.base.environment import VECTOR, NotRebuiltError, make

SINGLE: Final = "gymnasium"
PLAIN_VECTORS: Final = (
    "gymnasium.vector.sync_vector_env.SyncVectorEnv",
    "gymnasium.vector.async_vector_env.AsyncVectorEnv",
)
"""Vector environments that do what their sub-environments would do alone."""
TIME_LIMIT: Final = "gymnasium.wrappers.common.TimeLimit"
"""Limits are not among the wrappers of an `EnvSpec`: it has the outermost one as `max_episode_steps`."""
VIDEO: Final = "gymnasium.wrappers.rendering.RecordVideo"
"""Is left out: it would write over the videos of the recording, and changes nothing else."""


def rebuilt(provenance: Mapping[str, Any], **kwargs: Any) -> gymnasium.Env[Any, Any]:
    """Makes the environment that an episode was recorded with.

    For a vector environment of Gymnasium, one sub-environment is made.

    Args:
      provenance: of the episode.
      **kwargs: replace recorded keyword arguments, for instance `render_mode="rgb_array"`.

    Raises:
      NotRebuiltError: it was no Gymnasium environment, it has no id, or its wrappers cannot be applied.

    >>> rebuilt({"interface": "gymnasium", "id": "CartPole-v1"}).unwrapped.__class__.__name__
    'CartPoleEnv'
    """
    try:
        _require_known_interface(provenance)
        env: gymnasium.Env[Any, Any] = make(provenance, **kwargs)
    except NotRebuiltError:
        raise
    except Exception as error:
        raise NotRebuiltError(f"{provenance.get('id')} cannot be made: {type(error).__name__}: {error}") from error
    try:
        _require_same_layers(provenance, env)
    except NotRebuiltError:
        env.close()
        raise
    return env


def doubts(provenance: Mapping[str, Any]) -> Iterator[str]:
    """Possible reasons for a divergence: other versions, arguments that were not recorded.

    >>> next(doubts({"spec": {}, "versions": {"gymnasium": "0.1"}})).partition(",")[0]
    'recorded with gymnasium 0.1'
    """
    if "spec" not in provenance:
        yield "the environment was made from its id: arguments and wrappers may not all have been recorded"
    versions = provenance.get("versions")
    for name, version in versions.items() if isinstance(versions, Mapping) else ():
        if name in ("python", "rlds_kit"):
            continue
        now = getattr(sys.modules.get(name), "__version__", None) or _installed(name)
        if now != version:
            yield f"recorded with {name} {version}, replayed with {now or 'none'}"


def _installed(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _require_known_interface(provenance: Mapping[str, Any]) -> None:
    interface, name = provenance.get("interface"), provenance.get("class", "not described")
    if interface not in (None, SINGLE, VECTOR):
        raise NotRebuiltError(
            f"a {interface} environment ({name}) does not say how to make it; only Gymnasium's can be"
        )
    if not provenance.get("id"):
        raise NotRebuiltError(f"no environment id was recorded (the environment is {name}), so it cannot be made again")
    if interface == VECTOR:
        _require_plain_vector(provenance)


def _require_plain_vector(provenance: Mapping[str, Any]) -> None:
    name, layers = provenance.get("class"), provenance.get("wrapper_classes", [])
    if name not in PLAIN_VECTORS or layers:
        raise NotRebuiltError(
            f"it was recorded in a vector environment ({', '.join([*layers, str(name)])}) whose sub-environments "
            "cannot be made one by one; only those of SyncVectorEnv and AsyncVectorEnv without wrappers can"
        )


def _require_same_layers(provenance: Mapping[str, Any], env: gymnasium.Env[Any, Any]) -> None:
    recorded = provenance.get("wrapper_classes")
    if provenance.get("interface") != SINGLE or recorded is None:
        return
    if not isinstance(recorded, list | tuple) or not all(isinstance(name, str) for name in recorded):
        raise NotRebuiltError(f"expected the names of its wrappers, got {recorded!r}")
    others = {TIME_LIMIT, VIDEO}
    recorded, made = ([name for name in layers if name not in others] for layers in (recorded, _layers(env)))
    if made != recorded:
        raise NotRebuiltError(
            f"its wrappers were {', '.join(recorded) or 'none'}, and what can be made has {', '.join(made) or 'none'}; "
            "wrappers are made again if they keep their arguments (gymnasium.utils.RecordConstructorArgs)"
        )


def _layers(env: gymnasium.Env[Any, Any]) -> Iterator[str]:
    while isinstance(env, gymnasium.Wrapper):
        yield f"{type(env).__module__}.{type(env).__qualname__}"
        env = env.env
