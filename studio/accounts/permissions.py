"""Who may do what: one table of action, role and relation. All code that reads or changes a row uses it."""

from collections.abc import Mapping
from collections.abc import Set as AbstractSet
from enum import Enum
from typing import Final

from rlds_kit.base.errors import RldsKitError
from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.database.episodes import Episode
from rlds_kit.studio.database.roles import Relation, Role
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.studies import Study


class Action(Enum):
    """What can be done with a row."""

    STUDY_MAKE = "make a study"
    STUDY_SEE = "see this study"
    STUDY_PLAY = "play in this study"
    STUDY_EDIT = "change this study"
    STUDY_ENABLE = "enable or disable this study"
    SESSION_SEE = "see this session"
    SESSION_PLAY = "play in this session"
    EPISODE_SEE = "see this episode"
    EPISODE_TAG = "tag this episode"
    EPISODE_EXPORT = "export this episode"
    EPISODE_DELETE = "delete this episode"
    EXPORT_FOLDER = "make folders on the machine of the studio"
    ENVIRONMENTS_SEE = "see which environments there are"
    ENVIRONMENTS_TRY = "try environments"
    INVITE = "invite people"
    CROWD_RUN = "run this crowd"
    MANUAL_SEE = "see what manuals mean"
    MANUAL_OVERRIDE = "override what manuals mean"


class ForbiddenError(RldsKitError):
    """The account may not do this."""


_OWN: Final = frozenset({Relation.OWN})
_NONE: Final = frozenset[Relation]()
_MINE: Final = frozenset({Relation.OWN, Relation.OF_OWN_STUDY})
_PLAYED: Final = frozenset({Relation.OWN, Relation.SHARED})
_SEEN: Final = _MINE | _PLAYED
_OPEN: Final = frozenset({Relation.OWN, Relation.ENABLED})
_ALL: Final = frozenset(Relation)

ALLOWED: Final[Mapping[Action, Mapping[Role, frozenset[Relation]]]] = {
    action: dict(zip((Role.DESIGNER, Role.PARTICIPANT, Role.REVIEWER), relations, strict=True))
    for action, relations in {
        #                         designer participant reviewer
        Action.STUDY_MAKE: (_OWN, _NONE, _NONE),
        Action.STUDY_SEE: (_OPEN, _OPEN, _ALL),
        Action.STUDY_PLAY: (_OPEN, _OPEN, _OPEN),
        Action.STUDY_EDIT: (_OWN, _NONE, _NONE),
        Action.STUDY_ENABLE: (_OWN, _NONE, _NONE),
        Action.SESSION_SEE: (_SEEN, _PLAYED, _ALL),
        Action.SESSION_PLAY: (_PLAYED, _PLAYED, _PLAYED),
        Action.EPISODE_SEE: (_SEEN, _PLAYED, _ALL),
        Action.EPISODE_TAG: (_SEEN, _PLAYED, _ALL),
        Action.EPISODE_EXPORT: (_SEEN, _PLAYED, _ALL),
        Action.EPISODE_DELETE: (_MINE, _OWN, _OWN),
        Action.EXPORT_FOLDER: (_OWN, _NONE, _OWN),
        Action.ENVIRONMENTS_SEE: (_OWN, _NONE, _NONE),
        Action.ENVIRONMENTS_TRY: (_OWN, _NONE, _NONE),
        Action.INVITE: (_OWN, _NONE, _NONE),
        Action.CROWD_RUN: (_OWN, _NONE, _NONE),
        Action.MANUAL_SEE: (_OWN, _NONE, _OWN),
        Action.MANUAL_OVERRIDE: (_OWN, _NONE, _OWN),
    }.items()
}
"""By action and role, the sufficient relations to a row. Actions without a row count as with an own row."""


def is_allowed(role: Role, action: Action, relation: Relation = Relation.OWN) -> bool:
    """Whether an account may do an action.

    >>> is_allowed(Role.PARTICIPANT, Action.STUDY_PLAY, Relation.ENABLED)
    True
    """
    return relation in ALLOWED[action][role]


def require(account: Account, action: Action, row: Study | Session | Episode | None = None) -> None:
    """Raises an error unless an account may do an action.

    Args:
      account: that does it.
      action: what.
      row: that the action is done with; None: the action concerns no row.

    Raises:
      ForbiddenError: it may not.
    """
    relation = Relation.OWN if row is None else relation_to(account, row)
    if is_allowed(account.role, action, relation):
        return
    if action is Action.STUDY_PLAY and relation is Relation.OTHER:
        raise ForbiddenError("this study is not open now; ask who sent you the link")
    raise ForbiddenError(f"you may not {action.value}; it takes another account")


def relation_to(account: Account, row: Study | Session | Episode) -> Relation:
    """The relation of an account to a row."""
    match row:
        case Study():
            if row.owner_id == account.id:
                return Relation.OWN
            return Relation.ENABLED if row.is_enabled else Relation.OTHER
        case Session():
            others = {each.user_id for each in row.people.values()} | {row.user_id}
        case Episode():
            others = {*row.people, row.user_id}
    return _to_played(account.id, row, others)


def _to_played(account: str, row: Session | Episode, people: AbstractSet[str]) -> Relation:
    """The relation of an account to what some people played; if several played, none of them owns it."""
    if people == {account}:
        return Relation.OWN
    is_owner = row.study_owner_id == account
    if account in people and not (is_owner and isinstance(row, Episode)):
        return Relation.SHARED
    return Relation.OF_OWN_STUDY if is_owner else Relation.OTHER
