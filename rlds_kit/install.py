"""The `pip install` commands in error messages and dataset cards: the one place to change when they change.

The name is not registered on a package index yet, so a plain `pip install rlds-kit` could install a package of another
author (docs/decisions/0033).
"""

from typing import Final

REPOSITORY: Final = ""
"""Address of the public repository, as `https://...`; empty while there is none. `setup.py` reads it too."""


def how_to_install(extra: str = "", *, repository: str = REPOSITORY) -> str:
    """Return the line that installs rlds_kit with an extra, or with several that are separated by commas.

    >>> how_to_install("tf")
    'pip install ".[tf]" in a checkout of rlds_kit'
    >>> how_to_install("tf", repository="https://example.org/rlds_kit")
    'pip install "rlds-kit[tf] @ git+https://example.org/rlds_kit"'
    """
    extras = f"[{extra}]" if extra else ""
    if repository:
        return f'pip install "rlds-kit{extras} @ git+{repository}"'
    return f'pip install ".{extras}" in a checkout of rlds_kit'
