"""Which PettingZoo environments can be made here."""

import contextlib
import importlib
import inspect
from collections.abc import Iterable, Iterator
from typing import Final

MAKER: Final = "parallel_env"
"""What PettingZoo's modules call the function that makes their environment."""


def parallel_catalogue(modules: Iterable[str] = ()) -> dict[str, str]:
    """Lists the environments of PettingZoo whose agents act at once: the module to import first, by id.

    Args:
      modules: whose `parallel_env`, and whose own subclasses of `ParallelEnv` and of parallelizable `AECEnv`, are
        listed as "module:name".

    Returns:
      In alphabetical order; nothing if PettingZoo is not installed.

    Raises:
      ImportError: one of the modules is not there.

    >>> "butterfly/cooperative_pong-v6" in parallel_catalogue()
    True
    """
    with contextlib.suppress(ImportError):
        import pettingzoo

        registered = dict.fromkeys(pettingzoo.parallel_registry, "")
        own = {name: "" for module in modules for name in _makers(module)}
        return dict(sorted({**registered, **own}.items()))
    return {}


def _makers(module: str) -> Iterator[str]:
    from pettingzoo import AECEnv, ParallelEnv

    found = importlib.import_module(module)
    if callable(getattr(found, MAKER, None)):
        yield f"{module}:{MAKER}"
    for name, each in inspect.getmembers(found, inspect.isclass):
        is_at_once = issubclass(each, ParallelEnv) or (
            issubclass(each, AECEnv) and getattr(each, "metadata", {}).get("is_parallelizable", False)
        )
        if is_at_once and each.__module__ == module and not name.startswith("_"):
            yield f"{module}:{name}"
