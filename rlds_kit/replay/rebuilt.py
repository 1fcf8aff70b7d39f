"""Makes the environment of an episode again, or says why that cannot be done.

A dataset may come from anybody, and Gymnasium imports and calls what an `EnvSpec` names. So nothing is called but what
this process knows already: registered environments by their registered entry point, and wrapper classes of Gymnasium
and of modules that the program has imported.
"""

import importlib.metadata
import sys
from collections.abc import Iterator, Mapping
from typing import Any, Final

import gymnasium

from rlds_kit import environment as environments
from rlds_kit.errors import RldsKitError

SINGLE: Final = "gymnasium"
VECTOR: Final = "gymnasium.vector"
PLAIN_VECTORS: Final = (
    "gymnasium.vector.sync_vector_env.SyncVectorEnv",
    "gymnasium.vector.async_vector_env.AsyncVectorEnv",
)
"""Vector environments that do what their sub-environments would do alone."""
OF_VECTORS: Final = frozenset(("num_envs", "vectorization_mode", "vector_kwargs"))
"""Keyword arguments of `gymnasium.make_vec` that are not those of a sub-environment."""
TIME_LIMIT: Final = "gymnasium.wrappers.common.TimeLimit"
"""Limits are not among the wrappers of an `EnvSpec`: it has the outermost one as `max_episode_steps`."""


class NotRebuiltError(RldsKitError, ValueError):
    """The environment of an episode cannot be made again."""


def rebuilt(provenance: Mapping[str, Any]) -> gymnasium.Env[Any, Any]:
    """Makes the environment that an episode was recorded with.

    Of a vector environment of Gymnasium's own, one sub-environment is made.

    Args:
      provenance: of the episode.

    Raises:
      NotRebuiltError: it was no Gymnasium environment, it has no id, or what is made is not wrapped as it was.

    >>> rebuilt({"interface": "gymnasium", "id": "CartPole-v1"}).unwrapped.__class__.__name__
    'CartPoleEnv'
    """
    _require_known_interface(provenance)
    _require_registered(provenance)
    _require_known_wrappers(provenance)
    try:
        env: gymnasium.Env[Any, Any] = environments.make(_of_one(provenance))
    except Exception as error:
        raise NotRebuiltError(f"{provenance['id']} cannot be made: {type(error).__name__}: {error}") from error
    try:
        _require_same_layers(provenance, env)
    except NotRebuiltError:
        env.close()
        raise
    return env


def doubts(provenance: Mapping[str, Any]) -> Iterator[str]:
    """What may explain that the environment does something else: other versions, arguments that were not recorded.

    >>> next(doubts({"spec": {}, "versions": {"gymnasium": "0.1"}})).partition(",")[0]
    'recorded with gymnasium 0.1'
    """
    if "spec" not in provenance:
        yield "the environment was made from its id: arguments and wrappers may not all have been recorded"
    for name, version in (provenance.get("versions") or {}).items():
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


def _of_one(provenance: Mapping[str, Any]) -> dict[str, Any]:
    """What one environment, or sub-environment, is made from."""
    if provenance.get("interface") != VECTOR:
        return dict(provenance)
    spec = provenance.get("spec")
    alone = {**provenance, "kwargs": _without_vector(provenance.get("kwargs"))}
    return alone if spec is None else {**alone, "spec": {**spec, "kwargs": _without_vector(spec.get("kwargs"))}}


def _without_vector(kwargs: Mapping[str, Any] | None) -> dict[str, Any]:
    return {name: item for name, item in (kwargs or {}).items() if name not in OF_VECTORS}


def _require_registered(provenance: Mapping[str, Any]) -> None:
    identifier = str(provenance["id"])
    environments.register(identifier)
    known = gymnasium.registry.get(identifier)
    if known is None:
        raise NotRebuiltError(f"{identifier} is not registered; import the package that registers it first")
    recorded = (provenance.get("spec") or {}).get("entry_point", known.entry_point)
    if recorded != known.entry_point:
        raise NotRebuiltError(f"{identifier} was {recorded!r} when it was recorded and is {known.entry_point!r} now")


def _require_known_wrappers(provenance: Mapping[str, Any]) -> None:
    spec = provenance.get("spec")
    if spec is None and provenance.get("wrappers"):
        names = ", ".join(str(each.get("name")) for each in provenance["wrappers"])
        raise NotRebuiltError(f"the arguments of its wrappers ({names}) were not all recorded, so it cannot be wrapped")
    for each in (spec or {}).get("additional_wrappers") or ():
        place = str(each.get("entry_point"))
        module, _, name = place.partition(":")
        if not (module in sys.modules or module.startswith("gymnasium.wrappers.")):
            raise NotRebuiltError(f"its wrapper {place} is not known here; import {module} first")
        found = getattr(importlib.import_module(module), name, None)
        if not (isinstance(found, type) and issubclass(found, gymnasium.Wrapper)):
            raise NotRebuiltError(f"its wrapper {place} is no gymnasium.Wrapper")


def _require_same_layers(provenance: Mapping[str, Any], env: gymnasium.Env[Any, Any]) -> None:
    recorded = provenance.get("wrapper_classes")
    if provenance.get("interface") != SINGLE or recorded is None:
        return
    recorded, made = ([name for name in layers if name != TIME_LIMIT] for layers in (recorded, _layers(env)))
    if made != recorded:
        raise NotRebuiltError(
            f"its wrappers were {', '.join(recorded) or 'none'}, and what can be made has {', '.join(made) or 'none'}; "
            "wrappers are made again if they keep their arguments (gymnasium.utils.RecordConstructorArgs)"
        )


def _layers(env: gymnasium.Env[Any, Any]) -> Iterator[str]:
    while isinstance(env, gymnasium.Wrapper):
        yield f"{type(env).__module__}.{type(env).__qualname__}"
        env = env.env
