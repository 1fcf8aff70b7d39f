"""The C extension of the container, where it was built and is wanted; else the pure-Python twins do the work."""

from typing import Final

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.riegeli")
