"""Which environments can be made here."""

import contextlib
import functools
import importlib
import inspect
from collections.abc import Callable, Iterable
from typing import Any, Final

import dm_env
import gymnasium

_OF_OTHERS: Final = frozenset({"GymV21Environment-v0", "GymV26Environment-v0"})
"""They make what an argument names, and import its module: the maker of a study could name any."""


def catalogue(modules: Iterable[str] = ()) -> dict[str, str]:
    """Lists the environments that can be made here: the module that registered each, by id.

    Args:
      modules: to import, because they register environments.

    Returns:
      In alphabetical order; "" for the environments of Gymnasium, of its plugins, and of the Arcade Learning
      Environment, and for "module:function" of the modules, which makes one of dm_env. Those that make any environment
      of old Gym are not among them.

    Raises:
      ImportError: one of the modules is not there.

    >>> catalogue()["CartPole-v1"]
    ''
    """
    _register_games()
    modules = tuple(modules)
    from_modules = {name: module for module in modules for name in _registered_by(module)}
    made = {name for module in modules for name in makers(module)}
    return {name: from_modules.get(name, "") for name in sorted((gymnasium.registry.keys() - _OF_OTHERS) | made)}


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


def makers(module: str) -> dict[str, Callable[..., Any]]:
    """The functions of a module that say that they make environments, by "module:function".

    Only public functions of the module itself that are annotated as returning a `dm_env.Environment`:
    the maker of a study can call them, with any arguments, and nothing else.

    Args:
      module: is imported.

    Raises:
      ImportError: it is not there.

    >>> makers("rlds_kit.trials.environments.catalogue")
    {}
    """
    functions = inspect.getmembers(importlib.import_module(module), inspect.isfunction)
    own = {name: each for name, each in functions if each.__module__ == module and not name.startswith("_")}
    return {f"{module}:{name}": each for name, each in own.items() if _makes_environments(each)}


def maker(environment: str) -> Callable[..., Any] | None:
    """The function of a "module:function"; None, if it is none that makes environments of dm_env."""
    module, _, _ = environment.rpartition(":")
    return makers(module).get(environment) if module else None


def _makes_environments(function: Callable[..., Any]) -> bool:
    try:
        made = inspect.signature(function, eval_str=True).return_annotation
    except Exception:  # noqa: BLE001  names may mean nothing here, and evaluating them may do anything
        return False
    return isinstance(made, type) and issubclass(made, dm_env.Environment)
