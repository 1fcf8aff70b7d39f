"""Logging in, in the database of each kind."""

import pytest
from sqlalchemy import Connection

from rlds_kit.studio.accounts import login
from rlds_kit.studio.accounts.permissions import ForbiddenError
from rlds_kit.studio.database import studies, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.errors import NotFoundError
from rlds_kit.studio.database.roles import Role
from rlds_kit.studio.database.tokens import Kind
from tests.studio.database.rows import add_episode, add_session, add_study, run


def within(url: str, work: object) -> None:
    """Runs a test inside one transaction."""

    async def test(database: Database) -> None:
        await database.run(work)  # type: ignore[arg-type]  # a function of the connection

    run(url, test)


def test_r42_the_first_designer_is_made_once(database_url: str) -> None:
    """Each link is a new one to the same account, also after other accounts were made; its token is not a login."""

    def work(connection: Connection) -> None:
        first = login.first_designer(connection)
        users.add(connection, Role.DESIGNER, "dora")
        again = login.first_designer(connection)
        assert (first.id, first.role) == (again.id, Role.DESIGNER)
        link, other = login.make_link(connection, first.id), login.make_link(connection, first.id)
        assert link.id != other.id
        with pytest.raises(NotFoundError):
            login.identify(connection, link.id)
        assert login.by_token(connection, link.id, Kind.LINK).account.id == first.id

    within(database_url, work)


def test_r42_a_link_gives_the_browser_a_login_of_its_own(database_url: str) -> None:
    """The browser ends only its own login; the link stays valid."""

    def work(connection: Connection) -> None:
        ann = users.add(connection, Role.REVIEWER, "ann")
        link = login.link(connection, ann.id)
        browser = login.by_token(connection, link.token.id)
        assert browser.account.id == ann.id
        assert browser.token.id != link.token.id
        with pytest.raises(NotFoundError):
            login.link(connection, "0" * 32)

    within(database_url, work)


def test_r4_only_studies_that_are_enabled_make_participants(database_url: str) -> None:
    """The owner's rights do not matter: each user of the link gets a new account."""

    def work(connection: Connection) -> None:
        study = add_study(connection)
        with pytest.raises(ForbiddenError, match="not open now"):
            login.by_study(connection, study.id, "", None)
        studies.enable(connection, study.id, is_enabled=True)
        made = login.by_study(connection, study.id, "Pat", "P1")
        assert users.get(connection, made.account.id).participant == "P1"
        assert made.account.role is Role.PARTICIPANT

    within(database_url, work)


def test_a_deleted_person_is_anonymous_and_their_episodes_stay(database_url: str) -> None:
    """Name, address and logins are deleted; the row of the account contains none of them."""

    def work(connection: Connection) -> None:
        pat = users.add(connection, Role.PARTICIPANT, "Pat", "pat@example.org", "P1")
        study = add_study(connection)
        session = add_session(connection, study, pat.id)
        add_episode(connection, session)
        link = login.link(connection, pat.id)
        users.forget(connection, pat.id)
        left = users.get(connection, pat.id)
        assert (left.name, left.email, left.participant) == ("", None, None)
        assert users.by_email(connection, "pat@example.org") is None
        with pytest.raises(NotFoundError):
            login.identify(connection, link.token.id)
        with pytest.raises(NotFoundError):
            users.forget(connection, "0" * 32)

    within(database_url, work)
