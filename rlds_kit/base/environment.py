"""Makes a recorded environment again.

A dataset may come from an untrusted source, and Gymnasium imports and calls whatever an `EnvSpec` names. So only code
that is already known to this process is called: registered environments by their registered entry point, and wrapper
classes of Gymnasium and of modules that the program has imported.
"""

import importlib
import json
import sys
from collections.abc import Mapping
from typing import Any, Final

import gymnasium
from gymnasium.envs.registration import EnvSpec

from rlds_kit.base.errors import RldsKitError

VECTOR: Final = "gymnasium.vector"
"""The interface of vector environments."""
_OF_VECTORS: Final = frozenset(("num_envs", "vectorization_mode", "vector_kwargs"))
"""Keyword arguments of `gymnasium.make_vec` that are not those of a sub-environment."""
_OF_MAKE: Final = frozenset(("max_episode_steps", "disable_env_checker"))
"""Those which are of `gymnasium.make`, not of the class of the environment: parts of its spec."""


class NotRebuiltError(RldsKitError, ValueError):
    """A recorded environment cannot be made again."""


def make(environment: Mapping[str, Any], **kwargs: Any) -> Any:
    """Makes the Gymnasium environment that `Dataset.environment` describes; of a vector environment, a sub-environment.

    Wrappers that write videos are left out.

    Args:
      environment: needs `spec`, Gymnasium's own description, or `id` and `kwargs`.
      **kwargs: replace recorded keyword arguments, for instance `render_mode="human"`.

    Raises:
      NotRebuiltError: no id was recorded; the environment or a wrapper is not known here, and the package that has it
        must be imported first; it is registered with another entry point now; or the arguments of a wrapper were not
        recorded.

    >>> make({"id": "CartPole-v1", "kwargs": {}}).spec.id
    'CartPole-v1'
    """
    require_form(environment)
    environment = _of_one(environment)
    identifier = str(environment.get("id") or "")
    if not identifier:
        raise NotRebuiltError(
            "expected an environment with a Gymnasium id, but the recording has none; make the environment by hand: "
            f"it was {environment.get('class', 'not described')}"
        )
    spec = environment.get("spec")
    _require_registered(identifier, spec or {})
    if spec is None:
        _require_no_wrappers(environment.get("wrappers") or ())
        return gymnasium.make(identifier, **{**(environment.get("kwargs") or {}), **kwargs})
    wrappers = [each for each in spec.get("additional_wrappers") or () if not _writes_files(_wrapper_class(each))]
    return gymnasium.make(EnvSpec.from_json(json.dumps({**spec, "additional_wrappers": wrappers})), **kwargs)


def register(identifier: str) -> None:
    """Imports a package that registers its environments on import, if the id has its prefix."""
    if identifier.startswith("ALE/") and identifier not in gymnasium.registry:
        gymnasium.register_envs(importlib.import_module("ale_py"))


def require_form(environment: Mapping[str, Any]) -> None:
    """Validates the form of Gymnasium's description of an environment.

    Raises:
      NotRebuiltError: a part of it is no dict, or no list of them.
    """
    spec = environment.get("spec") or {}
    parts = [spec, environment.get("kwargs") or {}]
    if isinstance(spec, Mapping):
        wrappers = spec.get("additional_wrappers") or ()
        parts += [spec.get("kwargs") or {}, *(wrappers if isinstance(wrappers, list | tuple) else [wrappers])]
    if not all(isinstance(each, Mapping) for each in parts):
        raise NotRebuiltError("the recorded description of the environment is none of Gymnasium's; make it by hand")


def _of_one(environment: Mapping[str, Any]) -> Mapping[str, Any]:
    """The description that one environment, or sub-environment, is made from."""
    if environment.get("interface") != VECTOR:
        return environment
    alone = {**environment, "kwargs": _without(_OF_VECTORS, environment.get("kwargs") or {})}
    spec = environment.get("spec")
    if spec is None:
        return alone
    kwargs = spec.get("kwargs") or {}
    of_make = {name: item for name, item in kwargs.items() if name in _OF_MAKE}
    return {**alone, "spec": {**spec, **of_make, "kwargs": _without(_OF_VECTORS | _OF_MAKE, kwargs)}}


def _require_no_wrappers(wrappers: object) -> None:
    """Raises an error for wrappers of an environment without a spec: their arguments are not known."""
    described = wrappers if isinstance(wrappers, list | tuple) else [wrappers]
    names = ", ".join(str(each.get("name")) if isinstance(each, Mapping) else str(each) for each in described)
    if described:
        raise NotRebuiltError(f"its wrappers ({names}) or their environment have arguments that were not all recorded")


def _without(names: frozenset[str], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    return {name: item for name, item in kwargs.items() if name not in names}


def _require_registered(identifier: str, spec: Mapping[str, Any]) -> None:
    register(identifier)
    known = gymnasium.registry.get(identifier)
    if known is None:
        raise NotRebuiltError(f"{identifier} is not registered; import the package that registers it first")
    recorded = spec.get("entry_point", known.entry_point)
    if recorded != known.entry_point:
        raise NotRebuiltError(f"{identifier} was {recorded!r} when it was recorded and is {known.entry_point!r} now")


def _wrapper_class(described: Mapping[str, Any]) -> type[gymnasium.Wrapper[Any, Any, Any, Any]]:
    """The class of a wrapper, if its module is already imported."""
    place = str(described.get("entry_point"))
    module, _, name = place.partition(":")
    if not (module in sys.modules or module.startswith("gymnasium.wrappers.")):
        raise NotRebuiltError(f"its wrapper {place} is not known here; import {module} first")
    try:
        found = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise NotRebuiltError(f"its wrapper {place} is not known here: {error}") from error
    if not (isinstance(found, type) and issubclass(found, gymnasium.Wrapper)):
        raise NotRebuiltError(f"its wrapper {place} is no gymnasium.Wrapper")
    return found


def _writes_files(wrapper: type) -> bool:
    """Whether a wrapper would write into its recorded directory and overwrite files there."""
    return issubclass(wrapper, gymnasium.wrappers.RecordVideo)
