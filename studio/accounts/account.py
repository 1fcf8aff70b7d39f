"""The account of a request."""

from dataclasses import dataclass

from rlds_kit.studio.database.roles import Role


@dataclass(frozen=True, slots=True)
class Account:
    """Somebody who is logged in.

    Attributes:
      id: of the account.
      role: what it may do.
      name: of the person.
      token_id: that it logged in with.
      is_guest: whether it came by the link of a study, uninvited.
    """

    id: str
    role: Role
    name: str
    token_id: str = ""
    is_guest: bool = False
