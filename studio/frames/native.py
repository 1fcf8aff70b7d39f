"""The C extension of PNG, where it was built and is wanted."""

import os
from types import ModuleType


def _load() -> ModuleType | None:
    """The C extension, unless it was not built or RLDS_KIT_PURE=1 keeps it out."""
    if os.environ.get("RLDS_KIT_PURE") == "1":
        return None
    try:
        from rlds_kit.studio.frames import _native
    except ImportError:  # no compiler when this was installed: pictures are encoded without a palette
        return None
    return _native


native = _load()
