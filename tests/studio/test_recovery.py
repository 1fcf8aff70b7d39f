"""The start of a studio after it was killed, and after episodes were deleted."""

import shutil
import uuid
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import rlds_kit
from rlds_kit import layers
from rlds_kit import spec as specs
from rlds_kit.base.errors import DamageWarning
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.storage.recorder import Recorder
from rlds_kit.studio.accounts.anonymous import episode_id
from rlds_kit.studio.database import episodes, sessions
from rlds_kit.studio.database.database import Database
from rlds_kit.studio.database.episodes import Episode, Query
from rlds_kit.studio.database.roles import Relation
from rlds_kit.studio.database.sessions import SERVER_LOST, Session
from rlds_kit.studio.deletion import purge
from rlds_kit.studio.recovery import recover
from rlds_kit.trials import Status
from tests.studio.database.rows import add_session, add_study, run

SECRET = b"secret"
SPEC = specs.Dict({"observation": specs.Array((), np.dtype(np.int64)), "reward": specs.Array((), np.dtype(np.float64))})


def record(recordings: Path, session: Session, number: int, steps: int, ending: dict[str, Any] | None) -> str:
    """Records an episode with a reward of 2 per step; without metadata of its end, its writer dies."""
    aside = recordings.with_name("aside")
    with Recorder(aside, SPEC) as recorder:
        metadata = {"session": session.id, "number": number, "study_version": 1}
        episode = recorder.start_episode(metadata=metadata, seed=1)
        episode.append({"observation": 0})
        for step in range(steps):
            episode.append({"observation": step + 1}, {"action": 0, "reward": 2.0})
        if ending is not None:
            episode.end(EpisodeEnd.INTERRUPTED, terminated=False, truncated=False, metadata=ending)
        recorder.flush()
        directory = recordings / session.directory
        directory.mkdir(parents=True, exist_ok=True)
        for file in aside.iterdir():
            shutil.copy(file, directory)  # after this, only the data on the disk exists
    shutil.rmtree(aside)
    return episode.id.hex


def with_session(url: str, test: Callable[[Database, Session], Awaitable[None]]) -> None:
    """Runs a test with a session that is open."""

    async def whole(database: Database) -> None:
        session = await database.run(lambda connection: add_session(connection, add_study(connection)))
        await test(database, session)

    run(url, whole)


async def everything(database: Database) -> list[Episode]:
    """All rows."""
    query = Query(viewer="", relations=frozenset({Relation.OTHER}))
    return (await database.run(episodes.page, query))[1]


async def begin(database: Database, session: Session, episode: str, number: int) -> None:
    """The row of an episode that is being played."""
    public = episode_id(SECRET, session.study_id, session.id, number)
    await database.run(episodes.begin, episode, public, number, session, 1, session.directory)


def test_r11_an_episode_that_was_being_played_is_abandoned_with_its_steps(database_url: str, tmp_path: Path) -> None:
    """The row has the number of steps and the reason; the session ends, and is not valid."""

    async def test(database: Database, session: Session) -> None:
        played = record(tmp_path / "r", session, 0, 5, None)
        await begin(database, session, played, 0)
        assert await recover(database, tmp_path / "r", session.server, SECRET) == 1
        row = await database.run(episodes.get, played)
        assert (row.status, row.reason, row.steps, row.total_reward) == ("abandoned", SERVER_LOST, 5, 10.0)
        assert row.ended_ns is not None
        ended = await database.run(sessions.get, session.id)
        assert (ended.ended_ns is not None, ended.is_valid) == (True, False)
        assert await recover(database, tmp_path / "r", session.server, SECRET) == 0

    with_session(database_url, test)


@pytest.mark.parametrize("is_begun", [True, False])
def test_what_was_saved_and_not_written_is_found(database_url: str, tmp_path: Path, is_begun: bool) -> None:
    """The recording has the person's decision; the row gets it, whether the row existed or not."""

    async def test(database: Database, session: Session) -> None:
        ending = {"status": "cancelled", "reason": "", "totals": {"player": 6.0}}
        saved = record(tmp_path / "r", session, 3, 3, ending)
        if is_begun:
            await begin(database, session, saved, 3)
        await recover(database, tmp_path / "r", session.server, SECRET)
        row = await database.run(episodes.get, saved)
        assert (row.status, row.steps, row.total_reward, row.number) == ("cancelled", 3, 6.0, 3)
        assert row.public_id == episode_id(SECRET, session.study_id, session.id, 3)
        assert row.user_id == session.user_id

    with_session(database_url, test)


def test_what_ended_before_and_what_was_deleted_stays_so(database_url: str, tmp_path: Path) -> None:
    """Only unknown episodes are read; sessions of other servers are not changed."""

    async def test(database: Database, session: Session) -> None:
        ended, gone = (record(tmp_path / "r", session, number, 3, {"status": "rejected"}) for number in range(2))
        for number, each in enumerate((ended, gone)):
            await begin(database, session, each, number)
            await database.run(episodes.finish, each, Status.COMPLETED, "", 3, 1.5)
        await database.run(episodes.remove, gone)
        assert await recover(database, tmp_path / "r", "another", SECRET) == 0
        assert (await database.run(sessions.get, session.id)).ended_ns is None
        await recover(database, tmp_path / "r", session.server, SECRET)
        row = await database.run(episodes.get, ended)
        assert (row.status, row.total_reward) == ("completed", 1.5)
        assert not await database.run(episodes.exists, gone)

    with_session(database_url, test)


def test_without_a_step_there_is_no_row(database_url: str, tmp_path: Path) -> None:
    """As if the server had lived to delete it; the same holds for a row without data in the recording."""

    async def test(database: Database, session: Session) -> None:
        await begin(database, session, record(tmp_path / "r", session, 0, 0, None), 0)
        await begin(database, session, "0" * 32, 1)
        await recover(database, tmp_path / "r", session.server, SECRET)
        assert await everything(database) == []

    with_session(database_url, test)


def test_a_recording_that_cannot_be_read_does_not_prevent_a_start(database_url: str, tmp_path: Path) -> None:
    """The row has the server's end as the reason; `rlds-kit repair` can recover the data."""

    async def test(database: Database, session: Session) -> None:
        played = record(tmp_path / "r", session, 0, 5, None)
        await begin(database, session, played, 0)
        for shard in (tmp_path / "r" / session.directory).glob("*.riegeli"):
            shard.write_bytes(b"nonsense" * 1000)
        with pytest.warns(DamageWarning):
            await recover(database, tmp_path / "r", session.server, SECRET)
        row = await database.run(episodes.get, played)
        assert (row.status, row.reason) == ("abandoned", SERVER_LOST)

    with_session(database_url, test)


def test_r29_the_steps_of_deleted_episodes_go_and_the_others_stay(database_url: str, tmp_path: Path) -> None:
    """The others stay the same bit for bit, with their tags; the database then deletes its list of deleted episodes."""

    async def test(database: Database, session: Session) -> None:
        made = [record(tmp_path / "r", session, number, 4, {"status": "completed"}) for number in range(3)]
        made.append(record(tmp_path / "r", session, 3, 2, None))
        for number, each in enumerate(made):
            await begin(database, session, each, number)
            await database.run(episodes.finish, each, Status.COMPLETED, "", 4, 1.0)
        path = tmp_path / "r" / session.directory
        before = {each.id.hex: each.content_digest for each in rlds_kit.open(path, include_open=True).episodes}
        dataset = rlds_kit.open(path)
        tagged = next(each for each in dataset.episodes if each.id.hex == made[0])
        dataset.annotate("review", [layers.tag(tagged, "good")], source="ann")
        await database.run(episodes.remove, made[1])
        assert await purge(database, tmp_path / "elsewhere", "another server") == 0
        assert await purge(database, tmp_path / "r", session.server) == 1
        after = rlds_kit.open(path, include_open=True)
        assert {each.id.hex: each.content_digest for each in after.episodes} == {
            each: before[each] for each in (made[0], made[2], made[3])
        }
        assert next(each for each in after.episodes if each.id.hex == made[0]).tags == ("good",)
        assert await purge(database, tmp_path / "r", session.server) == 0
        assert [each.name for each in path.parent.iterdir()] == [path.name]

    with_session(database_url, test)


def test_a_purge_that_was_interrupted_is_done_again(database_url: str, tmp_path: Path) -> None:
    """Between the two renames, only the old recording exists; no data is lost."""

    async def test(database: Database, session: Session) -> None:
        made = [record(tmp_path / "r", session, number, 4, {"status": "completed"}) for number in range(2)]
        for number, each in enumerate(made):
            await begin(database, session, each, number)
            await database.run(episodes.finish, each, Status.COMPLETED, "", 4, 1.0)
        await database.run(episodes.remove, made[0])
        path = tmp_path / "r" / session.directory
        path.rename(path.with_name(path.name + ".deleted"))
        assert await purge(database, tmp_path / "r", session.server) == 1
        assert [each.id for each in rlds_kit.open(path).episodes] == [uuid.UUID(made[1])]

    with_session(database_url, test)


def test_what_is_still_being_written_is_purged_later(database_url: str, tmp_path: Path) -> None:
    """A worker of the server that was killed may need a moment to die."""

    async def test(database: Database, session: Session) -> None:
        made = record(tmp_path / "r", session, 0, 4, {"status": "completed"})
        await begin(database, session, made, 0)
        await database.run(episodes.finish, made, Status.COMPLETED, "", 4, 1.0)
        await database.run(episodes.remove, made)
        with Recorder(tmp_path / "r" / session.directory, SPEC) as recorder:
            recorder.start_episode(metadata={}).append({"observation": 1})
            recorder.flush()
            assert await purge(database, tmp_path / "r", session.server) == 0
        assert await purge(database, tmp_path / "r", session.server) == 1

    with_session(database_url, test)
