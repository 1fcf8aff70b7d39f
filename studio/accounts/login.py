"""Logging in: with a personal link, an invitation, or the link to an enabled study.

An e-mail address alone is not enough to log in, because it is not secret. Each function is for `Database.run`, and
returns the token that the browser stores; `revoke` of `database.tokens` logs out.
"""

from dataclasses import dataclass
from typing import Final

from rlds_kit.base.extras import needs
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import Action, require
from rlds_kit.studio.database import studies, tokens, users
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.tokens import Kind, Token

with needs("studio"):
    from sqlalchemy import Connection

LOGIN_SECONDS: Final = 30 * 86400.0
LINK_SECONDS: Final = 86400.0
"""A link may be in the history of a terminal, in a log, or in a mail: it is valid for one day only."""
INVITATION_SECONDS: Final = 14 * 86400.0


@dataclass(frozen=True, slots=True)
class Login:
    """The result of a login.

    Attributes:
      account: the account that logged in.
      token: for the browser to store; it logs the same account in again.
    """

    account: Account
    token: Token


def identify(connection: Connection, token: str, kind: Kind = Kind.ACCESS) -> Account:
    """Returns the account that a token belongs to.

    Args:
      connection: to the database.
      token: its id.
      kind: ACCESS or LINK.

    Raises:
      NotFoundError: there is no such token, or it is not valid any more.
    """
    found = tokens.get(connection, kind, token)
    user = users.get(connection, found.user_id)
    return Account(user.id, user.role, user.name, found.id, user.is_guest)


def by_token(connection: Connection, token: str, kind: Kind = Kind.ACCESS) -> Login:
    """Logs in with a personal link or with the token of another login; the browser gets a new token.

    Raises:
      NotFoundError: it is not valid any more.
    """
    return _login(connection, users.get(connection, identify(connection, token, kind).id))


def by_invitation(connection: Connection, invitation: str, name: str, email: str | None) -> Login:
    """Makes an account of the role that the invitation names.

    Raises:
      NotFoundError: the invitation is not valid any more.
      TakenError: there is an account with this e-mail address.
    """
    found = tokens.get(connection, Kind.INVITATION, invitation)
    tokens.use(connection, found)
    return _login(connection, users.add(connection, found.role or Role.PARTICIPANT, name, email))


def by_study(connection: Connection, study: str, name: str, participant: str | None) -> Login:
    """Makes an account for a participant who opened the link to a study.

    Args:
      connection: to the database.
      study: that the link leads to.
      name: of the person; "" if they gave none.
      participant: the id of the person at another service; None: there is none. A second login with the same id makes
        another account, because the id is not secret; both accounts have the same id in published data.

    Raises:
      NotFoundError: there is no such study.
      ForbiddenError: it is not enabled.
    """
    visitor = Account("", Role.PARTICIPANT, name)
    require(visitor, Action.STUDY_PLAY, studies.get(connection, study))
    return _login(connection, users.add(connection, Role.PARTICIPANT, name, participant=participant, is_guest=True))


def invite(connection: Connection, inviter: str, role: Role, uses: int | None, seconds: float) -> Token:
    """Makes an invitation.

    Args:
      connection: to the database.
      inviter: account of the person who invites.
      role: of the accounts that are made with it.
      uses: how many accounts may be made with it; None: any number.
      seconds: for which it is valid.
    """
    return tokens.add(connection, Kind.INVITATION, inviter, seconds, role=role, uses=uses)


def first_designer(connection: Connection) -> users.User:
    """The account of the first designer; it is made if there is none.

    For the command line: a user who can read the files of a studio needs no other proof.
    """
    return users.first(connection, Role.DESIGNER) or users.add(connection, Role.DESIGNER, "designer")


def make_link(connection: Connection, user: str, seconds: float = LINK_SECONDS) -> Token:
    """Makes the token of a login link, which can be listed and revoked.

    Args:
      connection: to the database.
      user: whom it logs in.
      seconds: for which it is valid; logins that were made with it go on.

    Raises:
      NotFoundError: there is no such account.
    """
    return tokens.add(connection, Kind.LINK, users.get(connection, user).id, seconds)


def link(connection: Connection, user: str) -> Login:
    """A login of an existing account, for programs on this machine.

    Raises:
      NotFoundError: there is no such account.
    """
    return _login(connection, users.get(connection, user))


def _login(connection: Connection, user: users.User) -> Login:
    token = tokens.add(connection, Kind.ACCESS, user.id, LOGIN_SECONDS)
    return Login(Account(user.id, user.role, user.name, token.id, user.is_guest), token)
