"""Completion codes: cannot be guessed, and are good once."""

import hashlib
import secrets
from typing import Final

_ALPHABET: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
"""Without letters and digits that people confuse."""
_LENGTH, _BYTES = 16, 10


def new_code() -> str:
    """A code of 80 random bits, in four groups.

    >>> len(new_code())
    19
    """
    return _shown(secrets.token_bytes(_BYTES))


def code_of(key: bytes, person: str) -> str:
    """The code of a person: without the key it is as good as random, and with it always the same.

    A page that is loaded again shows it again, and it need not be stored.

    Args:
      key: secret, 16 to 64 bytes.
      person: id of their row.

    >>> code_of(bytes(16), "7f3a") == code_of(bytes(16), "7f3a") != code_of(bytes(16), "7f3b")
    True
    """
    return _shown(hashlib.blake2b(person.encode(), digest_size=_BYTES, key=key).digest())


def _shown(drawn: bytes) -> str:
    number = int.from_bytes(drawn, "big")
    letters = "".join(_ALPHABET[number >> 5 * place & 31] for place in range(_LENGTH))
    return "-".join(letters[first : first + 4] for first in range(0, _LENGTH, 4))


def code_hash(code: str) -> str:
    """What is stored of a code: it is of no use to a reader of the database. Case, spaces and hyphens do not matter.

    >>> code_hash("abcd-efgh") == code_hash(" ABCD EFGH ")
    True
    """
    plain = "".join(code.split()).replace("-", "").upper()
    return hashlib.blake2b(plain.encode(), digest_size=20).hexdigest()
