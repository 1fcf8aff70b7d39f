"""Which environments Gymnasium can make here."""

import contextlib
import functools
import importlib
from collections.abc import Iterable

import gymnasium


def catalogue(modules: Iterable[str] = ()) -> dict[str, str]:
    """By id, the module that registered it.

    Args:
      modules: to import, because they register environments.

    Returns:
      In alphabetical order; "" for the environments of Gymnasium, of its plugins, and of the Arcade Learning
      Environment.

    Raises:
      ImportError: one of the modules is not there.

    >>> catalogue()["CartPole-v1"]
    ''
    """
    _register_games()
    from_modules = {name: module for module in modules for name in _registered_by(module)}
    return {name: from_modules.get(name, "") for name in sorted(gymnasium.registry)}


def registered(environment: str) -> str:
    """Has an environment registered.

    Args:
      environment: as `gymnasium.make` takes it: an id, or "module:id".

    Returns:
      The id.

    Raises:
      ImportError: the module is not there.

    >>> registered("CartPole-v1")
    'CartPole-v1'
    """
    _register_games()
    module, _, name = environment.rpartition(":")
    if module:
        importlib.import_module(module)
    return name


def _register_games() -> None:
    """Registers the games of the Arcade Learning Environment, where it is installed."""
    with contextlib.suppress(ImportError):
        import ale_py

        gymnasium.register_envs(ale_py)


@functools.cache
def _registered_by(module: str) -> frozenset[str]:
    before = set(gymnasium.registry)
    importlib.import_module(module)
    return frozenset(gymnasium.registry.keys() - before)
