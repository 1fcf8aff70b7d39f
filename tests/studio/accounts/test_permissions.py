"""Permissions of accounts."""

import itertools
from dataclasses import replace

import pytest

from rlds_kit.studio.accounts.account import Account
from rlds_kit.studio.accounts.permissions import ALLOWED, Action, ForbiddenError, is_allowed, relation_to, require
from rlds_kit.studio.database.episodes import Episode
from rlds_kit.studio.database.roles import Relation, Role
from rlds_kit.studio.database.sessions import Seated, Session
from rlds_kit.studio.database.studies import Content, Study

# Written out a second time, by hand, a letter for each relation: own, mine (of own study), enabled, other, shared.
EXPECTED = {
    #                          designer participant reviewer
    Action.STUDY_MAKE: ("o", "", ""),
    Action.STUDY_SEE: ("oe", "oe", "omexs"),
    Action.STUDY_PLAY: ("oe", "oe", "oe"),
    Action.STUDY_EDIT: ("o", "", ""),
    Action.STUDY_ENABLE: ("o", "", ""),
    Action.SESSION_SEE: ("oms", "os", "omexs"),
    Action.SESSION_PLAY: ("os", "os", "os"),
    Action.EPISODE_SEE: ("oms", "os", "omexs"),
    Action.EPISODE_TAG: ("oms", "os", "omexs"),
    Action.EPISODE_EXPORT: ("oms", "os", "omexs"),
    Action.EPISODE_DELETE: ("om", "o", "o"),
    Action.EXPORT_FOLDER: ("o", "", "o"),
    Action.ENVIRONMENTS_SEE: ("o", "", ""),
    Action.ENVIRONMENTS_TRY: ("o", "", ""),
    Action.INVITE: ("o", "", ""),
    Action.CROWD_RUN: ("o", "", ""),
    Action.MANUAL_SEE: ("o", "", "o"),
    Action.MANUAL_OVERRIDE: ("o", "", "o"),
}
TOGETHER = {"left": Seated("me", "a"), "right": Seated("you", "b")}
ROLES = (Role.DESIGNER, Role.PARTICIPANT, Role.REVIEWER)
LETTERS = {
    Relation.OWN: "o",
    Relation.SHARED: "s",
    Relation.OF_OWN_STUDY: "m",
    Relation.ENABLED: "e",
    Relation.OTHER: "x",
}


def study(owner: str, *, is_enabled: bool = False) -> Study:
    """A study of some owner."""
    return Study(
        id="s",
        owner_id=owner,
        version=1,
        is_enabled=is_enabled,
        created_ns=0,
        changed_ns=0,
        content=Content(name="s"),
    )


def session(player: str, owner: str) -> Session:
    """A session of some person in a study of some owner."""
    return Session(
        id="v",
        study_id="s",
        study_owner_id=owner,
        environment_id="e",
        user_id=player,
        server="one",
        agent_id="a",
        started_ns=0,
        ended_ns=None,
        is_valid=True,
    )


def episode(player: str, owner: str) -> Episode:
    """An episode of some person in a study of some owner."""
    return Episode(
        id="i",
        public_id="p",
        session_id="v",
        number=0,
        study_id="s",
        study_owner_id=owner,
        study_name="S",
        study_version=1,
        environment_id="e",
        environment_name="E",
        user_id=player,
        agent_id="a",
        directory="d",
        status="completed",
        reason="",
        started_ns=0,
        ended_ns=1,
        steps=1,
        total_reward=0.0,
        tags=(),
    )


def test_r3_r35_the_table_has_every_action_and_role() -> None:
    """No entry is missing, so no action is allowed by omission."""
    assert ALLOWED.keys() == EXPECTED.keys() == set(Action)
    assert all(set(roles) == set(Role) == set(ROLES) for roles in ALLOWED.values())
    assert set(LETTERS) == set(Relation)


@pytest.mark.parametrize(("action", "role", "relation"), list(itertools.product(Action, ROLES, Relation)))
def test_r3_r35_every_entry_of_the_table(action: Action, role: Role, relation: Relation) -> None:
    """For each action, role and relation, the table agrees with the one above, which was written by hand."""
    assert is_allowed(role, action, relation) == (LETTERS[relation] in EXPECTED[action][ROLES.index(role)])


@pytest.mark.parametrize(
    ("row", "relation"),
    [
        (study("me"), Relation.OWN),
        (study("me", is_enabled=True), Relation.OWN),
        (study("you", is_enabled=True), Relation.ENABLED),
        (study("you"), Relation.OTHER),
        (session("me", "you"), Relation.OWN),
        (session("you", "me"), Relation.OF_OWN_STUDY),
        (session("you", "her"), Relation.OTHER),
        (episode("me", "me"), Relation.OWN),
        (episode("me", "you"), Relation.OWN),
        (episode("you", "me"), Relation.OF_OWN_STUDY),
        (episode("you", "her"), Relation.OTHER),
        (replace(session("me", "you"), people=TOGETHER), Relation.SHARED),
        (replace(session("you", "me"), people=TOGETHER), Relation.SHARED),
        (replace(session("you", "her"), people={"left": Seated("you", "a")}), Relation.OTHER),
        (replace(episode("me", "you"), people={"me": "a", "you": "b"}), Relation.SHARED),
        (replace(episode("me", "me"), people={"me": "a", "you": "b"}), Relation.OF_OWN_STUDY),
    ],
)
@pytest.mark.parametrize(("role", "action"), list(itertools.product(ROLES, Action)))
def test_rows_are_judged_by_their_relation(
    row: Study | Session | Episode, relation: Relation, role: Role, action: Action
) -> None:
    """`require` finds the relation, and decides by the table."""
    account = Account("me", role, "Me")
    assert relation_to(account, row) is relation
    if is_allowed(role, action, relation):
        require(account, action, row)
    else:
        with pytest.raises(ForbiddenError):
            require(account, action, row)


@pytest.mark.parametrize(("role", "action"), list(itertools.product(ROLES, Action)))
def test_what_has_no_row_is_ones_own(role: Role, action: Action) -> None:
    """Making a study and inviting people depend on the role alone."""
    if is_allowed(role, action, Relation.OWN):
        require(Account("me", role, "Me"), action)
    else:
        with pytest.raises(ForbiddenError, match=action.value):
            require(Account("me", role, "Me"), action)


def test_r4_a_closed_study_says_so() -> None:
    """The error for a link to a disabled study says that the study is disabled, not that the role is wrong."""
    with pytest.raises(ForbiddenError, match="not open now"):
        require(Account("me", Role.PARTICIPANT, "Me"), Action.STUDY_PLAY, study("you"))
