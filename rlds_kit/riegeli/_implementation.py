"""The C extension, where it was built and is wanted.

`RLDS_KIT_PURE=1` in the environment keeps it out, so that the pure-Python twins can be tested and timed.
"""

from __future__ import annotations

import os
from types import ModuleType


def _load() -> ModuleType | None:
    if os.environ.get("RLDS_KIT_PURE") == "1":
        return None
    try:
        from rlds_kit.riegeli import _native
    except ImportError:  # no compiler when this was installed: the twins do the work
        return None
    return _native


native = _load()
