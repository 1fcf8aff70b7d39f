"""The C extension of the filters, where it was built and is wanted; else their twins do the work."""

from typing import Final

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.storage")
