"""Selects the C extension of the container, if it was built and is enabled; else the equivalent Python code is used."""

from typing import Final

from rlds_kit.extension import extension

native: Final = extension("rlds_kit.riegeli")
