"""The account of a request."""

from dataclasses import dataclass

from rlds_kit.studio.database.roles import Role


@dataclass(frozen=True, slots=True)
class Account:
    """A user who is logged in.

    Attributes:
      id: id of the account.
      role: decides what the account may do.
      name: name of the person.
      token_id: id of the token of this login.
      is_guest: whether the account was made through the link of a study, without an invitation.
    """

    id: str
    role: Role
    name: str
    token_id: str = ""
    is_guest: bool = False
