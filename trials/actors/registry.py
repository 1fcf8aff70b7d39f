"""Implementations of actors, by name."""

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import metadata
from typing import Any, Final

from rlds_kit.trials.actors.known_actors import RandomActor, ScriptedActor

GROUP: Final = "rlds_kit.actors"
"""The group of entry points of implementations: a name, and a class or a function."""
_registered: Final[dict[str, Callable[..., Any]]] = {"random": RandomActor, "scripted": ScriptedActor}


@dataclass(frozen=True, slots=True)
class Implementation:
    """An implementation of actors.

    Attributes:
      name: that is recorded.
      target: a class or function, or a name that the actor's process looks up.
    """

    name: str
    target: str | Callable[..., Any]


def register(name: str, implementation: Callable[..., Any]) -> None:
    """Gives an implementation a name, in this program.

    Args:
      name: for `ActorConfig`.
      implementation: a class whose objects are actors, made without arguments; or a function that is called as
        `act(observation, reward, messages)`. Other processes import it, so it belongs to a module.

    Raises:
      ValueError: another implementation has this name.

    >>> register("always_left", lambda observation, reward, messages: 0)
    >>> implementation_of("always_left").name
    'always_left'
    """
    if _registered.setdefault(name, implementation) is not implementation:
        raise ValueError(f"expected a name that no implementation has, got {name!r}; it is {_registered[name]!r}")


def implementation_of(implementation: str | Callable[..., Any]) -> Implementation:
    """The implementation that a name, a class or a function stands for.

    Args:
      implementation: a registered name, the name of an entry point of `rlds_kit.actors`, "module:name", or the class or
        function itself.

    >>> implementation_of(RandomActor).name
    'rlds_kit.trials.actors.known_actors:RandomActor'
    """
    if not isinstance(implementation, str):
        qualified = getattr(implementation, "__qualname__", type(implementation).__qualname__)
        module = getattr(implementation, "__module__", type(implementation).__module__)
        return Implementation(f"{module}:{qualified}", implementation)
    return Implementation(implementation, _registered.get(implementation, implementation))


def known_implementations() -> list[str]:
    """The names of implementations that are registered or installed, in alphabetical order.

    >>> "random" in known_implementations()
    True
    """
    return sorted({*_registered, *(each.name for each in metadata.entry_points(group=GROUP))})


def load(target: str | Callable[..., Any]) -> Callable[..., Any]:
    """The class or function of an implementation.

    Raises:
      ValueError: there is none of this name.
      ImportError: its module cannot be imported.
      AttributeError: its module does not have it.
    """
    if not isinstance(target, str):
        return target
    if target in _registered:
        return _registered[target]
    if ":" in target:
        module, _, name = target.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found
    entries = metadata.entry_points(group=GROUP, name=target)
    if not entries:
        known = ", ".join(known_implementations())
        raise ValueError(f'expected "module:name" or one of the actors {known}, got {target!r}')
    loaded: Callable[..., Any] = next(iter(entries)).load()
    return loaded


def version_of(implementation: Callable[..., Any]) -> str:
    """The version that is recorded: its attribute `version`, else that of its distribution; "" if neither is known."""
    stated = getattr(implementation, "version", None)
    if stated is not None:
        return str(stated)
    top = implementation.__module__.partition(".")[0]
    own = getattr(sys.modules.get(top), "__version__", None)
    if own is not None:
        return str(own)
    try:
        return metadata.version(top)
    except metadata.PackageNotFoundError:
        return ""
