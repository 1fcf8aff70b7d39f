"""Selects those of the requested episodes that an account may have."""

from collections.abc import Sequence
from typing import Final, Protocol

from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import ALLOWED, Action
from rlds_kit.studio.database.episodes import Query
from rlds_kit.studio.database.roles import Relation

ME: Final = "me"
"""Value of `user` for the account's own episodes."""


class Wanted(Protocol):
    """What a table or an export requests."""

    @property
    def study(self) -> str | None:
        """Id of a study."""

    @property
    def session(self) -> str | None:
        """Id of a session."""

    @property
    def user(self) -> str | None:
        """Anonymous id of a person, or `ME`."""

    @property
    def status(self) -> Sequence[str]:
        """The status must be one of these, if any are given."""

    @property
    def tag(self) -> str | None:
        """A tag that the episode has."""


def query_of(account: Account, action: Action, wanted: Wanted) -> Query:
    """The first page of the episodes with which an account may do an action."""
    is_me = wanted.user == ME
    relations = ALLOWED[action][account.role]
    return Query(
        viewer=account.id,
        relations=relations & {Relation.OWN} if is_me else relations,
        study=wanted.study,
        session=wanted.session,
        agent=None if is_me else wanted.user,
        statuses=tuple(wanted.status),
        tag=wanted.tag,
    )
