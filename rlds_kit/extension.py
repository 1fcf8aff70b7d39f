"""The C extensions, if they were built and `RLDS_KIT_PURE` is not set."""

import importlib
import os
from types import ModuleType


def extension(package: str, name: str = "_native") -> ModuleType | None:
    """A module of a package in C, unless it was not built or `RLDS_KIT_PURE=1` in the environment leaves it out.

    Without the module, equivalent Python code is used; the variable allows to test and measure that code, too.

    Args:
      package: its full name.
      name: of the module.

    >>> extension("rlds_kit.spec") is None
    True
    """
    if os.environ.get("RLDS_KIT_PURE") == "1":
        return None
    try:
        return importlib.import_module(f"{package}.{name}")
    except ImportError:  # there was no compiler when this was installed
        return None
