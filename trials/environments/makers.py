"""Functions that make environments of dm_env, which has no registry."""

import importlib
import inspect
from collections.abc import Callable
from typing import Any

import dm_env


def makers(module: str) -> dict[str, Callable[..., Any]]:
    """The functions of a module that say that they make environments, by "module:function".

    Only public functions of the module itself that are annotated as returning a `dm_env.Environment`:
    the maker of a study can call them, with any arguments, and nothing else.

    Args:
      module: is imported.

    Raises:
      ImportError: it is not there.

    >>> makers("rlds_kit.trials.environments.makers")
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
