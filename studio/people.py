"""Accounts and links of a studio, from the command line: a user who can read its files needs no other proof."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from rlds_kit.base.errors import RldsKitError
from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.secret import secret_of
from rlds_kit.studio.accounts.signing import Signer, link_of
from rlds_kit.studio.database import tokens, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.engine import FILE, sqlite_url
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.tokens import Kind

with needs("studio"):
    from sqlalchemy import Connection

P = ParamSpec("P")
T = TypeVar("T")


class NoStudioError(RldsKitError, ValueError):
    """A directory does not belong to a studio."""


@dataclass(frozen=True, slots=True)
class People:
    """The accounts of a studio; it may be open meanwhile.

    Args:
      directory: of the studio.
      database: its URL; None: the file in the directory.
      url: that the studio is opened by.

    Raises:
      NoStudioError: there is no studio in it, or its database is elsewhere.
    """

    directory: Path
    database: str | None
    url: str

    def __post_init__(self) -> None:
        if not (self.directory / "secret").is_file():
            raise NoStudioError(f"{self.directory}: expected the directory of a studio; `rlds-kit studio` makes one")
        if self.database is None and not (self.directory / FILE).is_file():
            raise NoStudioError(f"{self.directory}: its database is elsewhere; give the --database that the studio has")

    def everybody(self) -> list[users.User]:
        """All accounts, the oldest first."""
        return self._run(users.everybody)

    def add(self, role: str, name: str, email: str | None) -> str:
        """Makes an account; returns its login link.

        Raises:
          TakenError: there is an account with this e-mail address.
        """
        return self.link(self._run(users.add, Role(role), name, email).id)

    def link(self, account: str) -> str:
        """A new login link for an account.

        Args:
          account: its id or e-mail address.

        Raises:
          NotFoundError: there is none.
        """
        return self._link(Kind.LINK, self._run(login.make_link, self._id(account)).id)

    def tokens(self) -> list[tuple[tokens.Token, users.User]]:
        """The links, logins and invitations that are valid now, each with its owner, the newest first."""
        known = {user.id: user for user in self.everybody()}
        return [(token, known[token.user_id]) for token in self._run(tokens.valid)]

    def revoke(self, token: str) -> None:
        """Revokes a link, login or invitation.

        Raises:
          NotFoundError: there is none of this id.
        """
        self._run(tokens.revoke, token)

    def invite(self, role: str, uses: int | None, days: float) -> str:
        """A link by which people make accounts of their own.

        Args:
          role: of the accounts.
          uses: how many accounts may be made; None: any number.
          days: for which it is valid.
        """
        inviter = self._run(login.first_designer).id
        made = self._run(login.invite, inviter, Role(role), uses, days * 86400)
        return self._link(Kind.INVITATION, made.id)

    def forget(self, account: str) -> None:
        """Deletes what identifies a person, and their logins.

        Args:
          account: its id or e-mail address.

        Raises:
          NotFoundError: there is no such account.
        """
        self._run(users.forget, self._id(account))

    def _id(self, account: str) -> str:
        """The id of an account, found by its id or e-mail address."""
        found = self._run(users.by_email, account)
        return account if found is None else found.id

    def _link(self, kind: Kind, token: str) -> str:
        return link_of(self.url, kind, Signer(secret_of(self.directory)).sign(kind, token))

    def _run(self, work: Callable[Concatenate[Connection, P], T], *args: P.args, **kwargs: P.kwargs) -> T:
        async def run() -> T:
            async with await Database.open(self.database or sqlite_url(self.directory / FILE)) as database:
                return await database.run(work, *args, **kwargs)

        return asyncio.run(run())
