"""Accounts, studies, sessions and episodes in the database."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy import Connection, func, select

from rlds_kit.studio.database import episodes, sessions, studies, tables, tokens, users
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.episodes import Query
from rlds_kit.studio.database.errors import NotFoundError, StaleError, TakenError
from rlds_kit.studio.database.roles import Relation, Role
from rlds_kit.studio.database.sessions import Session
from rlds_kit.studio.database.studies import Content
from rlds_kit.studio.database.tokens import Kind
from rlds_kit.trials.engine.phase import Status
from tests.studio.database.rows import (
    CART,
    LAKE,
    add_episode,
    add_session,
    add_study,
    begin_episode,
    content,
    run,
)


def within(url: str, work: Callable[[Connection], None]) -> None:
    """Runs a test inside one transaction."""

    async def test(database: Database) -> None:
        await database.run(work)

    run(url, test)


def test_r1_a_study_reads_back_as_it_was_written(database_url: str) -> None:
    """Texts, order of environments and keyword arguments are the same."""
    wanted = content("Ünïcode 🎮", LAKE, CART)

    async def test(database: Database) -> None:
        owner = await database.run(users.add, Role.DESIGNER, "ann")
        made = await database.run(studies.add, owner.id, wanted)
        found = await database.run(studies.get, made.id)
        assert found == made
        assert (found.owner_id, found.version, found.is_enabled) == (owner.id, 1, False)
        assert _without_ids(found.content) == _without_ids(wanted)
        assert len({each.id for each in found.content.environments} - {""}) == 2

    run(database_url, test)


def _without_ids(given: Content) -> tuple[object, ...]:
    environments = [replace(each, id="") for each in given.environments]
    return given.name, given.description, given.instructions, environments


def test_r2_a_change_is_a_new_version_and_the_old_one_can_be_read(database_url: str) -> None:
    """The content of version 1 can be read after version 2 was made."""

    def work(connection: Connection) -> None:
        study = add_study(connection)
        changed = studies.change(connection, study.id, 1, content("Other", *study.content.environments))
        assert (changed.version, changed.content.name) == (2, "Other")
        assert changed.content.environments == study.content.environments
        assert studies.content_of(connection, study.id, 1)["name"] == "Balance"
        assert studies.content_of(connection, study.id, 2)["name"] == "Other"
        with pytest.raises(NotFoundError):
            studies.content_of(connection, study.id, 3)

    within(database_url, work)


def test_r2_a_change_of_an_old_version_is_refused(database_url: str) -> None:
    """Two people who edit at the same time do not overwrite each other's changes."""

    async def test(database: Database) -> None:
        study = await database.run(add_study)
        await database.run(studies.change, study.id, 1, content("Mine"))
        with pytest.raises(StaleError, match="version 2"):
            await database.run(studies.change, study.id, 1, content("Yours"))
        assert (await database.run(studies.get, study.id)).content.name == "Mine"

    run(database_url, test)


def test_r2_what_is_made_differently_is_another_environment(database_url: str) -> None:
    """Episodes stay with the environment that was played; an environment without sessions is deleted."""

    def work(connection: Connection) -> None:
        study = add_study(connection, "Balance", CART, LAKE)
        cart, lake = study.content.environments
        episode = add_episode(connection, add_session(connection, study))
        other = replace(cart, kwargs={})
        changed = studies.change(connection, study.id, 1, content("Balance", other))
        (now,) = changed.content.environments
        assert now.id not in {cart.id, lake.id}
        assert studies.environment(connection, cart.id) == cart
        assert episodes.get(connection, episode).environment_id == cart.id
        with pytest.raises(NotFoundError):
            studies.environment(connection, lake.id)

    within(database_url, work)


def test_r2_an_environment_of_another_study_is_refused(database_url: str) -> None:
    """An id from outside the study is an error, and nothing is changed."""

    async def test(database: Database) -> None:
        study, other = await database.run(add_study), await database.run(add_study)
        with pytest.raises(NotFoundError, match="environment 0"):
            await database.run(studies.change, study.id, 1, content("Mine", *other.content.environments))
        assert await database.run(studies.get, study.id) == study

    run(database_url, test)


def test_r4_studies_that_others_may_see(database_url: str) -> None:
    """The account's own always; those of others if they are enabled, or all."""

    def work(connection: Connection) -> None:
        mine, enabled, disabled = (add_study(connection, name) for name in ("mine", "enabled", "disabled"))
        studies.enable(connection, enabled.id, is_enabled=True)

        def seen(**flags: bool) -> set[str]:
            return {each.content.name for each in studies.visible(connection, mine.owner_id, **flags)}

        assert seen(enabled=False, others=False) == {"mine"}
        assert seen(enabled=True, others=False) == {"mine", "enabled"}
        assert seen(enabled=True, others=True) == {"mine", "enabled", "disabled"}
        assert not studies.get(connection, disabled.id).is_enabled

    within(database_url, work)


def test_r6_a_session_has_a_beginning_and_one_end(database_url: str) -> None:
    """A second end does not change the time of the first."""

    def work(connection: Connection) -> None:
        session = add_session(connection, add_study(connection))
        assert (session.ended_ns, session.is_valid) == (None, True)
        ended = sessions.end(connection, session.id)
        assert ended.ended_ns is not None
        assert ended.ended_ns >= ended.started_ns > 0
        assert sessions.end(connection, session.id) == ended

    within(database_url, work)


def test_r6_sessions_of_a_server_that_was_killed_are_invalid(database_url: str) -> None:
    """Their episodes have the reason; those of other servers stay open."""

    def work(connection: Connection) -> None:
        study = add_study(connection)
        dead, alive = (add_session(connection, study, server=server) for server in ("dead", "alive"))
        lost, saved = begin_episode(connection, dead), add_episode(connection, dead)
        going_on = begin_episode(connection, alive)
        assert sessions.end_left_open(connection, "dead") == 1
        assert sessions.end_left_open(connection, "dead") == 0
        found = sessions.get(connection, dead.id)
        assert (found.is_valid, found.ended_ns is None) == (False, False)
        row = episodes.get(connection, lost)
        assert (row.status, row.reason, row.steps) == ("abandoned", sessions.SERVER_LOST, 0)
        assert episodes.get(connection, saved).status == "completed"
        assert episodes.get(connection, going_on).status == "recording"
        assert sessions.get(connection, alive.id).ended_ns is None

    within(database_url, work)


def test_r6_a_server_that_is_shut_down_ends_its_sessions(database_url: str) -> None:
    """They are valid; those with unwritten data stay open until the next start."""

    def work(connection: Connection) -> None:
        study = add_study(connection)
        ours, unwritten, theirs = (add_session(connection, study, server=each) for each in ("one", "one", "two"))
        sessions.end_all(connection, "one", {unwritten.id})
        found = sessions.get(connection, ours.id)
        assert (found.is_valid, found.ended_ns is None) == (True, False)
        assert [each.id for each in sessions.left_open(connection, "one")] == [unwritten.id]
        assert [each.id for each in sessions.left_open(connection, "two")] == [theirs.id]
        sessions.end_all(connection, "one")
        assert sessions.left_open(connection, "one") == []

    within(database_url, work)


@pytest.mark.parametrize("status", list(Status))
@pytest.mark.parametrize("steps", [0, 1])
def test_r14_every_status_is_kept_but_abandoned_without_steps(database_url: str, status: Status, steps: int) -> None:
    """An episode that was abandoned before its first step has no row."""

    def work(connection: Connection) -> None:
        episode = begin_episode(connection, add_session(connection, add_study(connection)))
        is_kept = episodes.finish(connection, episode, status, "why", steps, 2.0)
        assert is_kept == (status is not Status.ABANDONED or steps > 0)
        if is_kept:
            found = episodes.get(connection, episode)
            assert (found.status, found.reason, found.steps, found.total_reward) == (status.value, "why", steps, 2.0)
            assert found.ended_ns is not None
        else:
            with pytest.raises(NotFoundError):
                episodes.get(connection, episode)
        with pytest.raises(StaleError):
            episodes.finish(connection, episode, Status.COMPLETED, "", 9, 9.0)

    within(database_url, work)


def test_r15_the_row_of_an_episode_says_all_that_is_not_in_steps(database_url: str) -> None:
    """Study and version, environment, session, number, person, storage, times."""

    def work(connection: Connection) -> None:
        study = add_study(connection)
        session = add_session(connection, study)
        add_episode(connection, session)
        row = episodes.get(connection, add_episode(connection, session, steps=3, total=-1.5))
        assert (row.session_id, row.number, row.study_id, row.study_version) == (session.id, 1, study.id, 1)
        assert (row.environment_id, row.environment_name) == (study.content.environments[0].id, "Cart")
        assert (row.user_id, row.agent_id, row.study_owner_id) == (session.user_id, session.agent_id, study.owner_id)
        assert (row.directory, row.steps, row.total_reward, row.tags) == ("study/environment", 3, -1.5, ())

    within(database_url, work)


def _three(connection: Connection) -> Session:
    """Episodes of 1, 2 and 3 steps."""
    session = add_session(connection, add_study(connection))
    statuses = (Status.COMPLETED, Status.REJECTED, Status.CANCELLED)
    for steps, status in enumerate(statuses, 1):
        add_episode(connection, session, steps, status, total=-float(steps))
    return session


@pytest.mark.parametrize("sort", list(episodes.SORTS))
def test_r28_pages_in_any_order_are_a_partition(database_url: str, sort: str) -> None:
    """Every episode is on exactly one page, in the requested order."""

    def work(connection: Connection) -> None:
        session = _three(connection)
        for is_descending in (False, True):
            own = Query(
                viewer=session.user_id,
                relations=frozenset({Relation.OWN}),
                sort=sort,
                is_descending=is_descending,
                size=2,
            )
            (total, first), (again, second) = (
                episodes.page(connection, replace(own, page=number)) for number in (0, 1)
            )
            assert (total, again, len(first), len(second)) == (3, 3, 2, 1)
            steps = [episode.steps for episode in (*first, *second)]
            assert sorted(steps) == [1, 2, 3]
            if sort in {"steps", "total_reward"}:
                assert steps == sorted(steps, reverse=is_descending == (sort == "steps"))

    within(database_url, work)


def test_r28_filters_hold_together(database_url: str) -> None:
    """Filters by study, session, person, status and tag can be combined."""

    def work(connection: Connection) -> None:
        session, other = _three(connection), _three(connection)
        everything = Query(viewer="", relations=frozenset({Relation.OTHER}))

        def steps(**filters: Any) -> list[int]:
            return sorted(episode.steps for episode in episodes.page(connection, replace(everything, **filters))[1])

        assert steps() == [1, 1, 2, 2, 3, 3]
        for name, value in (("study", session.study_id), ("session", session.id), ("agent", session.agent_id)):
            assert steps(**{name: value}) == [1, 2, 3]
        assert steps(statuses=("completed", "rejected"), study=other.study_id) == [1, 2]
        mine = replace(everything, session=session.id, sort="steps", is_descending=False)
        first = episodes.page(connection, mine)[1][0]
        episodes.set_tags(connection, first.id, ["good", "odd", "good"])
        assert episodes.get(connection, first.id).tags == ("good", "odd")
        assert steps(tag="odd") == [1]
        episodes.set_tags(connection, first.id, [])
        assert steps(tag="odd") == []

    within(database_url, work)


def test_r28_only_the_relations_that_count_are_seen(database_url: str) -> None:
    """The account's own, those of its studies, or all; none without a relation."""

    def work(connection: Connection) -> None:
        session, _ = _three(connection), _three(connection)

        def seen(viewer: str, *relations: Relation) -> int:
            return episodes.page(connection, Query(viewer=viewer, relations=frozenset(relations)))[0]

        assert seen(session.user_id, Relation.OWN) == 3
        assert seen(session.study_owner_id, Relation.OWN) == 0
        assert seen(session.study_owner_id, Relation.OWN, Relation.OF_OWN_STUDY) == 3
        assert seen(session.user_id, Relation.ENABLED) == 0
        assert seen(session.user_id) == 0
        assert seen("nobody", Relation.OTHER) == 6

    within(database_url, work)


def test_r29_what_is_deleted_is_gone_and_remembered(database_url: str) -> None:
    """The row and its tags are deleted; the place of the steps is stored, for their removal from the shards."""

    def work(connection: Connection) -> None:
        session = add_session(connection, add_study(connection))
        episode = add_episode(connection, session)
        episodes.set_tags(connection, episode, ["good"])
        episodes.remove(connection, episode)
        with pytest.raises(NotFoundError):
            episodes.get(connection, episode)
        assert connection.execute(select(func.count()).select_from(tables.episode_tags)).scalar_one() == 0
        assert connection.execute(select(tables.deletions.c.episode_id, tables.deletions.c.directory)).all() == [
            (episode, "study/environment")
        ]
        with pytest.raises(StaleError, match="being played"):
            episodes.remove(connection, begin_episode(connection, session))

    within(database_url, work)


def test_r42_people_stand_apart_from_their_accounts(database_url: str) -> None:
    """Only the table `personal` has names or addresses; an address belongs to one account, in upper or lower case."""

    def work(connection: Connection) -> None:
        user = users.add(connection, Role.PARTICIPANT, "Ann", "Ann@Example.org")
        assert users.by_email(connection, "ANN@example.ORG") == users.get(connection, user.id) == user
        with pytest.raises(TakenError):
            users.add(connection, Role.PARTICIPANT, "Eve", "ann@example.ORG")
        for table in tables.METADATA.sorted_tables:
            if table is not tables.personal:
                for row in connection.execute(select(table)):
                    assert "ann" not in str(row).lower()

    within(database_url, work)


def test_r42_tokens_end(database_url: str) -> None:
    """They end by time, by use, and when revoked."""

    def work(connection: Connection) -> None:
        user = users.add(connection, Role.DESIGNER, "ann").id
        expired = tokens.add(connection, Kind.ACCESS, user, -1.0)
        once = tokens.add(connection, Kind.INVITATION, user, 60.0, role=Role.REVIEWER, uses=1)
        forever = tokens.add(connection, Kind.ACCESS, user, 60.0)
        assert tokens.get(connection, Kind.INVITATION, once.id) == once
        for kind, token in ((Kind.ACCESS, expired), (Kind.ACCESS, once), (Kind.INVITATION, forever)):
            with pytest.raises(NotFoundError):
                tokens.get(connection, kind, token.id)
        tokens.use(connection, once)
        with pytest.raises(NotFoundError):
            tokens.use(connection, once)
        tokens.use(connection, forever)
        assert tokens.get(connection, Kind.ACCESS, forever.id) == forever
        tokens.revoke(connection, forever.id)
        with pytest.raises(NotFoundError):
            tokens.get(connection, Kind.ACCESS, forever.id)

    within(database_url, work)
