"""Tokens that are refused before they expire."""

import json
import os
import time
from collections.abc import Callable
from pathlib import Path

from rlds_kit.base.errors import FormatError
from rlds_kit.base.whole_file import make_directory, write_json
from rlds_kit.trials.service.tokens import BadTokenError, Token


class Revocations:
    """By name, until when the tokens were made that are refused now.

    Args:
      path: of a file that has them after a restart, too; None: they are forgotten with this object.
      clock: nanoseconds since 1970.

    Raises:
      FormatError: the file is not one of these.

    >>> from rlds_kit.trials.service.tokens import Role
    >>> revocations = Revocations(clock=lambda: 200)
    >>> revocations.revoke("ann")
    >>> revocations.check(Token("bob", Role.ACTOR, 300, issued_ns=100))
    >>> revocations.check(Token("ann", Role.ACTOR, 300, issued_ns=201))
    >>> revocations.check(Token("ann", Role.ACTOR, 300, issued_ns=100))
    Traceback (most recent call last):
    rlds_kit.trials.service.tokens.BadTokenError: the tokens of ann were revoked; get a new one
    """

    def __init__(self, path: str | os.PathLike[str] | None = None, clock: Callable[[], int] = time.time_ns) -> None:
        self._path, self._clock = None if path is None else Path(path), clock
        self._until: dict[str, int] = {}
        if self._path is not None and self._path.exists():
            self._load(self._path)

    def revoke(self, name: str) -> None:
        """Refuses the tokens of a name that were made until now; returns when that is on the disk.

        Raises:
          OSError: the file cannot be written; nothing changed.
        """
        until = {**self._until, name: self._clock()}
        if self._path is not None:
            make_directory(self._path.parent)
            write_json(self._path, until)
        self._until = until

    def has(self, token: Token) -> bool:
        """Whether a token was revoked."""
        return token.issued_ns <= self._until.get(token.name, -1)

    def check(self, token: Token) -> None:
        """Accepts a token.

        Raises:
          BadTokenError: it was revoked.
        """
        if self.has(token):
            raise BadTokenError(f"the tokens of {token.name} were revoked; get a new one")

    def _load(self, path: Path) -> None:
        try:
            self._until = {str(name): int(until) for name, until in json.loads(path.read_text("utf-8")).items()}
        except (AttributeError, TypeError, ValueError) as error:
            raise FormatError(f"{path}: expected names and times of tokens that were revoked: {error}") from error
