"""The studio's secret: what signs its links and cookies, and hides who is behind anonymous ids."""

import contextlib
import hashlib
import hmac
import os
import secrets
from pathlib import Path
from typing import Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.whole_file import whole_file

_BYTES: Final = 32
_NAME: Final = "secret"


class SecretError(RldsKitError, ValueError):
    """The file of the secret is not what it should be."""


def secret_of(directory: Path) -> bytes:
    """Reads the secret of a studio; makes one, that only its user can read, if there is none.

    Args:
      directory: of the studio.

    Raises:
      SecretError: the file holds something else.
      OSError: it cannot be read or written.
    """
    path = directory / _NAME
    if not path.exists():
        # Of two servers that make one at the same moment, both use that of the first.
        with contextlib.suppress(FileExistsError), whole_file(path, replace=False) as temporary:
            _write(temporary, secrets.token_bytes(_BYTES).hex())
    return _read(path)


def _write(path: Path, text: str) -> None:
    with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)


def _read(path: Path) -> bytes:
    text = path.read_text(encoding="ascii", errors="replace").strip()
    if len(text) != 2 * _BYTES or set(text) - set("0123456789abcdef"):
        raise SecretError(
            f"{path}: expected {2 * _BYTES} hexadecimal digits; restore the file, or delete it: then all links and "
            "logins end, and people get other anonymous ids"
        )
    return bytes.fromhex(text)


def derived(secret: bytes, purpose: str) -> bytes:
    """A key for one purpose, which reveals nothing of the keys of others.

    >>> derived(b"secret", "cookies") == derived(b"secret", "anonymous ids")
    False
    """
    return hmac.new(secret, purpose.encode(), hashlib.sha256).digest()
