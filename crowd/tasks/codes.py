"""Completion codes: cannot be guessed, and are good once."""

import hashlib
import secrets
from typing import Final

_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without letters and digits that people confuse."""
_LENGTH: Final = 16


def new_code() -> str:
    """A code of 80 random bits, in four groups.

    >>> len(new_code())
    19
    """
    drawn = "".join(secrets.choice(_ALPHABET) for _ in range(_LENGTH))
    return "-".join(drawn[first : first + 4] for first in range(0, _LENGTH, 4))


def code_hash(code: str) -> str:
    """What is stored of a code: it is of no use to a reader of the database. Case, spaces and hyphens do not matter.

    >>> code_hash("abcd-efgh") == code_hash(" ABCD EFGH ")
    True
    """
    plain = "".join(code.split()).replace("-", "").upper()
    return hashlib.blake2b(plain.encode(), digest_size=20).hexdigest()
