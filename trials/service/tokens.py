"""Tokens: who may do what, signed, for a limited time."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Final

from rlds_kit.base.errors import RldsKitError

_LONGEST: Final = 2000
_LEAST_BYTES: Final = 16


class Role(Enum):
    """What a token is for."""

    ADMIN = "admin"
    """Everything: start and end trials, too."""
    ACTOR = "actor"
    """Take seats, give rewards, and what watchers may."""
    WATCHER = "watcher"
    """See trials, and nothing else."""

    def includes(self, other: "Role") -> bool:
        """Whether it may do what another one may.

        >>> Role.ACTOR.includes(Role.WATCHER), Role.WATCHER.includes(Role.ACTOR)
        (True, False)
        """
        order = list(Role)
        return order.index(self) <= order.index(other)


class BadTokenError(RldsKitError, ValueError):
    """A token was not made with this secret, or it has expired."""


@dataclass(frozen=True, slots=True)
class Token:
    """Who a person is.

    Attributes:
      name: of the person or program; the source of the rewards that it gives.
      role: what it may do.
      expires: in seconds since 1970.
      issued_ns: when it was made, in nanoseconds since 1970; 0 in tokens of older versions.
    """

    name: str
    role: Role
    expires: int
    issued_ns: int = 0


class Signer:
    """Makes and reads tokens.

    Args:
      secret: of a service, at least 16 bytes.
      clock: seconds since 1970.

    Raises:
      ValueError: the secret is too short.

    >>> signer = Signer(b"0123456789abcdef", clock=lambda: 100.0)
    >>> signer.read(signer.sign("ann", Role.ACTOR, seconds=60))
    Token(name='ann', role=<Role.ACTOR: 'actor'>, expires=160, issued_ns=100000000000)
    """

    def __init__(self, secret: bytes, clock: Callable[[], float] = time.time) -> None:
        if len(secret) < _LEAST_BYTES:
            raise ValueError(f"expected a secret of at least {_LEAST_BYTES} bytes, got {len(secret)}")
        self._key = hashlib.sha256(b"rlds_kit trials tokens\0" + secret).digest()
        self._clock = clock

    def sign(self, name: str, role: Role, *, seconds: float) -> str:
        """The text of a token.

        Args:
          name: of the person or program.
          role: what it may do.
          seconds: until it expires.
        """
        now = self._clock()
        content = _encoded(json.dumps([name, role.value, int(now + seconds), int(now * 1e9)]).encode())
        return f"{content}.{self._signature(content)}"

    def read(self, text: str) -> Token:
        """Who a token is for.

        Raises:
          BadTokenError: it was not made with this secret, or it has expired.
        """
        content, _, signature = text[:_LONGEST].partition(".")
        if not hmac.compare_digest(self._signature(content).encode(), signature.encode("utf-8", "replace")):
            raise BadTokenError("expected a token that was made with the secret of this service")
        try:
            name, role, *times = json.loads(base64.urlsafe_b64decode(content + "=" * (-len(content) % 4)))
            token = Token(str(name), Role(role), *map(int, times))
        except (binascii.Error, TypeError, ValueError) as error:  # a newer version signed it
            raise BadTokenError("expected a token of this version") from error
        if token.expires <= self._clock():
            raise BadTokenError(f"the token of {token.name} has expired; get a new one")
        return token

    def _signature(self, content: str) -> str:
        return _encoded(hmac.digest(self._key, content.encode("utf-8", "replace"), "sha256"))


def _encoded(content: bytes) -> str:
    return base64.urlsafe_b64encode(content).rstrip(b"=").decode()
