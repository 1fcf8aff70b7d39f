"""Names of a package whose modules are loaded when they are first used, so that importing the package stays fast."""

import importlib
from collections.abc import Callable, Mapping
from typing import Any


def lazy_names(package: str, modules: Mapping[str, str]) -> Callable[[str], Any]:
    """Returns a `__getattr__` for a package (PEP 562).

    Args:
      package: its `__name__`.
      modules: names of the package, and the full names of the modules that define them.

    >>> lazy_names("rlds_kit.storage", {"FlushPolicy": "rlds_kit.storage.policy"})("FlushPolicy").__name__
    'FlushPolicy'
    """

    def load(name: str) -> Any:  # a module's attributes are of any type
        if name not in modules:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(importlib.import_module(modules[name]), name)

    return load
