"""The studio's secret: the key that signs links and cookies, and from which anonymous ids are computed."""

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
    """The file of the secret has wrong content."""


def secret_of(directory: Path) -> bytes:
    """Reads the secret of a studio; makes one if there is none, in a file that only its user can read.

    Args:
      directory: of the studio.

    Raises:
      SecretError: the file does not contain a secret.
      OSError: it cannot be read or written.
    """
    path = directory / _NAME
    if not path.exists():
        # If two servers make one at the same moment, both use that of the first.
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
    """Derives a key for one purpose; it reveals nothing about the keys for other purposes.

    >>> derived(b"secret", "cookies") == derived(b"secret", "anonymous ids")
    False
    """
    return hmac.new(secret, purpose.encode(), hashlib.sha256).digest()
