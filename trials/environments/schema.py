"""A JSON schema of what can be set when an environment is made: a form can be made of it for any environment."""

import inspect
import json
import types
import typing
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import gymnasium

from rlds_kit.trials.environments.catalogue import maker, registered

RESERVED: Final = frozenset({"id", "render_mode"})
"""What the studio sets itself."""
_SEED: Final = frozenset({"seed"})
"""What it sets, too, where a function makes environments of dm_env."""
_PLAIN: Final = {bool: "boolean", int: "integer", float: "number", str: "string", type(None): "null"}
_MARKERS: Final = (gymnasium.Env, gymnasium.utils.EzPickle, object)
"""Bases of environments whose arguments are not the environment's."""


def kwargs_schema(environment: str) -> dict[str, Any]:
    """The schema of an environment's keyword arguments, as its signature, its annotations and its registration say.

    Args:
      environment: as `gymnasium.make` takes it: an id, or "module:id"; or the "module:function" of one of dm_env.

    Returns:
      JSON schema (2020-12) of an object. What JSON cannot hold has no default; what is not annotated, and has no
      default that shows it, has no type.

    Raises:
      gymnasium.error.Error: there is no such environment.
      ImportError: what it needs is not installed.

    >>> kwargs_schema("FrozenLake-v1")["properties"]["is_slippery"]
    {'default': True, 'type': 'boolean'}
    """
    function = maker(environment)
    if function is not None:
        return _schema(environment, function, {}, RESERVED | _SEED)
    name = registered(environment)
    spec = gymnasium.spec(name)
    entry = spec.entry_point
    if entry is None:
        raise gymnasium.error.Error(f"{environment} is registered without an entry point; it cannot be made")
    creator = gymnasium.envs.registration.load_env_creator(entry) if isinstance(entry, str) else entry
    return _schema(name, creator, spec.kwargs, RESERVED)


def _schema(
    title: str, creator: Callable[..., Any], given: Mapping[str, Any], reserved: frozenset[str]
) -> dict[str, Any]:
    parameters, is_open = _parameters(creator)
    properties = {name: _property(parameter, given) for name, parameter in parameters.items() if name not in reserved}
    required = [name for name, each in properties.items() if "default" not in each and _is_needed(parameters[name])]
    required = [name for name in required if name not in given]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": title,
        "type": "object",
        "properties": properties,
        "required": required,
        "additionalProperties": is_open,
    }


def _is_needed(parameter: inspect.Parameter) -> bool:
    return parameter.default is inspect.Parameter.empty


def _parameters(creator: Callable[..., Any]) -> tuple[dict[str, inspect.Parameter], bool]:
    """The parameters by name, and whether others may be given, too."""
    found: dict[str, inspect.Parameter] = {}
    for function in _functions(creator):
        given = list(_annotated(function).parameters.values())
        for parameter in given:
            if parameter.name != "self" and parameter.kind in {parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY}:
                found.setdefault(parameter.name, parameter)
        if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in given):
            return found, False
    return found, not isinstance(creator, type)


def _functions(creator: Callable[..., Any]) -> Iterator[Callable[..., Any]]:
    """What takes the arguments: a function, or the `__init__` of a class, then those of its bases."""
    if not isinstance(creator, type):
        yield creator
        return
    for base in creator.__mro__:
        if base not in _MARKERS and "__init__" in vars(base):
            yield vars(base)["__init__"]


def _annotated(function: Callable[..., Any]) -> inspect.Signature:
    """The signature; annotations that are text are read where that is possible."""
    try:
        return inspect.signature(function, eval_str=True)
    except Exception:  # noqa: BLE001  names may mean nothing here, and evaluating them may do anything
        return inspect.signature(function)


def _property(parameter: inspect.Parameter, registered: Mapping[str, Any]) -> dict[str, Any]:
    default = registered.get(parameter.name, parameter.default)
    found = _of_annotation(parameter.annotation)
    if default is not inspect.Parameter.empty and _is_json(default):
        return {"default": default, **(found or _of_value(default))}
    return found


def _is_json(value: Any) -> bool:
    try:
        json.dumps(value, allow_nan=False)
    except (TypeError, ValueError):
        return False
    return True


def _of_value(value: Any) -> dict[str, Any]:
    if type(value) in _PLAIN and value is not None:
        return {"type": _PLAIN[type(value)]}
    if isinstance(value, list | tuple):
        return {"type": "array"}
    return {"type": "object"} if isinstance(value, dict) else {}


def _of_annotation(annotation: Any) -> dict[str, Any]:
    """The schema of a type; {}: anything."""
    if isinstance(annotation, type) and annotation in _PLAIN:
        return {"type": _PLAIN[annotation]}
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return {"enum": list(arguments)}
    if origin in {typing.Union, types.UnionType}:
        inner = [_of_annotation(each) for each in arguments]
        return {"anyOf": inner} if all(inner) else {}
    if annotation is None:
        return {"type": "null"}
    kind = origin or annotation
    if isinstance(kind, type) and issubclass(kind, list | tuple | Sequence) and kind is not bytes:
        return {"type": "array"}
    return {"type": "object"} if isinstance(kind, type) and issubclass(kind, Mapping) else {}
