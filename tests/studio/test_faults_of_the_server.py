"""Faults of a whole studio: it is killed, its disk is full, its database disappears, its clock jumps."""

import asyncio
import contextlib
import random
import signal
import time
from pathlib import Path
from typing import Any, Final

import pytest
from websockets.exceptions import ConnectionClosed

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from tests.studio import postgres
from tests.studio.play.server import run
from tests.studio.player import press, save, seated, start
from tests.studio.studio_process import CORRIDOR, StudioProcess, running

PRESSED: Final = {"environment": CORRIDOR, "turn": "press"}
ON_A_CLOCK: Final = {"environment": "MountainCar-v0", "turn": "clock", "fps": 30.0}
SECOND_NS: Final = 1_000_000_000


def recorded(studio: StudioProcess, study: dict[str, Any]) -> list[rlds_kit.Episode]:
    """The episodes of a study, in the order of their beginning."""
    (directory,) = (studio.recordings / study["id"]).iterdir()
    return list(rlds_kit.open(directory, include_open=True).episodes)


async def save_one_and_play_on(studio: StudioProcess, token: str) -> list[tuple[int, int]]:
    """Saves an episode, plays for two seconds in the next; returns steps and the times when they were shown."""
    async with seated(studio.designer, token) as client:
        await start(client)
        await client.reached(5)
        assert (await save(client))["status"] == "completed"
        before = await start(client, 1)
        end = time.monotonic_ns() + 2 * SECOND_NS
        await client.until(lambda me: me.frames[-1].time_ns > end)
        return [(frame.step, frame.time_ns) for frame in client.frames[before:]]


@pytest.mark.thorough
@pytest.mark.parametrize(("database_kind", "dies"), [("sqlite", "machine"), ("postgresql", "server")])
def test_a_killed_server_loses_nothing_that_was_saved_and_a_second_of_the_rest(
    database_kind: str, dies: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """No episodes are merged, and the rows have the reason once a server runs again."""
    options: tuple[str, ...] = ()
    if database_kind == "postgresql":
        options = ("--database", request.getfixturevalue("cluster").new_database())
    shown: list[tuple[int, int]] = []
    killed_ns = 0
    with running(tmp_path, *options) as studio:
        study = studio.designer.study("killed", ON_A_CLOCK)
        session, token = studio.designer.session(study)

        async def play() -> None:
            nonlocal killed_ns
            shown.extend(await save_one_and_play_on(studio, token))
            killed_ns = time.monotonic_ns()
            studio.kill(with_workers=dies == "machine")

        run(play)
    with running(tmp_path, *options) as again:
        saved, lost = again.designer.episodes(study=study["id"])
        first, second = recorded(again, study)
        assert (saved["id"], saved["status"], saved["steps"]) == (first.id.hex, "completed", first.length - 1)
        assert (lost["id"], lost["status"], lost["steps"]) == (second.id.hex, "abandoned", second.length - 1)
        assert "server" in lost["reason"]
        assert first.metadata["status"] == "completed"
        assert second.end is (EpisodeEnd.INCOMPLETE if dies == "machine" else EpisodeEnd.INTERRUPTED)
        assert lost["steps"] >= max(step for step, time_ns in shown if time_ns < killed_ns - SECOND_NS) > 0
        ended = again.designer.get(f"sessions/{session}")["session"]
        assert (ended["is_valid"], ended["ended_ns"] is not None) == (False, True)


@pytest.mark.thorough
@pytest.mark.parametrize("dies", ["machine", "server"])
def test_a_killed_server_loses_no_reward_that_the_page_confirmed(dies: str, tmp_path: Path) -> None:
    """Rewards of an observer, given while the episode is played, with their note, key and step."""
    with running(tmp_path) as studio:
        study = studio.designer.study("judged", PRESSED)
        session, token = studio.person("participant", "gil").session(study)
        looking = studio.designer.post(f"sessions/{session}/look")["token"]

        async def play() -> None:
            async with (
                seated(studio.person("participant", "gil"), token) as gil,
                seated(studio.designer, looking) as ann,
            ):
                await start(gil)
                await press(gil, 3)
                for value in (1.0, -1.0, 0.5, 0.25, 2.0):
                    await ann.send("reward", value=value, step=2, note="so", key="Equal", device="keyboard")
                    await ann.next_of("amended", value=value)
                studio.kill(with_workers=dies == "machine")

        with contextlib.suppress(ConnectionClosed):  # the server may notice first that its workers are dead
            run(play)
    with running(tmp_path) as again:
        (episode,) = recorded(again, study)
        (row,) = again.designer.episodes(study=study["id"])
        assert (row["id"], row["status"]) == (episode.id.hex, "abandoned")
        judged = [each for each in episode.annotations("judgements") if each.field == "reward"]
        assert [each.value for each in judged] == [1.0, -1.0, 0.5, 0.25, 2.0]
        assert {each.steps for each in judged} == {range(1, 2)}
        assert {each.user_data["key"] for each in judged} == {"Equal"}
        shown = again.designer.get(f"replay/{episode.id.hex}/annotations")["annotations"]
        assert [each["kind"] for each in shown] == ["reward", "note"] * 5


FULL_DISK: Final = """
import resource
resource.setrlimit(resource.RLIMIT_FSIZE, (6 << 20, 6 << 20))  # as much as the disk has left, for each file
from rlds_kit.cli import main
main()
"""


def test_a_full_disk_ends_the_episode_that_did_not_fit_and_harms_no_other(tmp_path: Path) -> None:
    """The players get a notice; the written part of the episode can be read, and so can all saved episodes."""
    noise = {"environment": "rlds_kit_tests/Noise-v0", "turn": "clock", "fps": 60.0}
    with running(tmp_path, command=("-c", FULL_DISK)) as studio:
        study = studio.designer.study("full", noise)
        _, token = studio.designer.session(study)

        async def play() -> None:
            async with seated(studio.designer, token) as client:
                await start(client)
                await client.reached(3)
                await save(client)
                await start(client, 1)
                said = await client.next_of("notice", code="environment")
                assert "File too large" in said["message"]
                await client.next_of("notice", code="interrupted")
                assert [each["episode"] for each in client.said if each["type"] == "saved"] == [0]
                await start(client, 2)
                await client.reached(3)
                assert (await save(client))["status"] == "completed"

        run(play)
        rows = studio.designer.episodes(study=study["id"])
        assert [row["status"] for row in rows[:3]] == ["completed", "abandoned", "completed"]
        assert "File too large" in rows[1]["reason"]
        lengths = {each.id.hex: each.length for each in recorded(studio, study)}
        assert [lengths[row["id"]] - 1 for row in (rows[0], rows[2])] == [rows[0]["steps"], rows[2]["steps"]]
        for each in recorded(studio, study):
            assert len([step["observation"] for step in each.steps]) == each.length


def test_a_database_that_is_gone_loses_no_episode(cluster: postgres.Cluster, tmp_path: Path) -> None:
    """It is reported as saved only when it is; meanwhile the game continues."""
    with running(tmp_path, "--database", cluster.new_database()) as studio:
        study = studio.designer.study("gone", PRESSED)
        _, token = studio.designer.session(study)

        async def play() -> None:
            async with seated(studio.designer, token) as client:
                await start(client)
                await press(client, 3)
                cluster.stop()
                try:
                    await client.send("cancel")
                    await client.next_of("ask")
                    await client.send("confirm", save=True, completed=True)
                    await client.next_of("notice", code="database")
                    before = await start(client, 1)
                    await press(client, 2, before)
                    assert not [said for said in client.said if said["type"] == "saved"]
                finally:
                    cluster.start()
                await client.next_of("saved", episode=0, status="completed", steps=3)
                assert (await save(client, completed=False))["episode"] == 1

        run(play)
        rows = studio.designer.episodes(study=study["id"])
        assert [(row["status"], row["steps"]) for row in rows[:2]] == [("completed", 3), ("cancelled", 2)]
        assert [each.length for each in recorded(studio, study)][:2] == [4, 3]


JUMPING: Final = """
import signal, time
real, jumped = time.time_ns, 0
def jump(*_):
    global jumped
    jumped -= 3_600_000_000_000
signal.signal(signal.SIGUSR1, jump)
time.time_ns = lambda: real() + jumped
time.time = lambda: time.time_ns() / 1e9
from rlds_kit.cli import main
main()
"""


def test_a_clock_that_is_set_back_an_hour_does_no_harm(tmp_path: Path) -> None:
    """Logins stay valid; the episode is saved, and its end is not before its beginning."""
    with running(tmp_path, command=("-c", JUMPING)) as studio:
        study = studio.designer.study("jump", PRESSED)
        _, token = studio.designer.session(study)

        async def play() -> None:
            async with seated(studio.designer, token) as client:
                await start(client)
                await press(client, 2)
                studio.process.send_signal(signal.SIGUSR1)
                assert (await save(client))["steps"] == 2
                await press(client, 2, await start(client, 1))
                assert (await save(client))["steps"] == 2

        run(play)
        rows = [row for row in studio.designer.episodes(study=study["id"]) if row["status"] == "completed"]
        assert [row["steps"] for row in rows] == [2, 2]
        assert all(row["ended_ns"] >= row["started_ns"] for row in rows)


def nonsense(count: int, study: str, episode: str) -> list[tuple[str, str, bytes]]:
    """Many requests that no page would send: method, path, body."""
    draw = random.Random(0)
    paths = [
        *("login", "studies", f"studies/{study}", f"studies/{study}/state", "sessions", "invitations", "episodes"),
        *("environments/check", f"replay/{episode}/annotations", "exports", f"episodes/{'0' * 32}", "replay/x/step/-1"),
        *(f"replay/{episode}/step/{10**30}", f"replay/{episode}/image/0?field=nothing", "episodes?page=-1", "%00"),
    ]
    bodies = [
        *(b"", b"{", b"null", b"[]", b"{}", b'{"v": 2}', b"\xff\xfe", b'"' + b"x" * 70_000 + b'"', b"[" * 20_000),
        *(
            b'{"v": 1, "enabled": "yes"}',
            b'{"name": null}',
            b'{"token": 5}',
            b'{"kind": "tag", "text": "a", "steps": [9, 1]}',
        ),
        *(b'{"study": "../../x", "environment": "os:system"}', b'{"name": "x", "environments": []}', b'{"v": 1e999}'),
    ]
    return [
        (draw.choice(("POST", "PUT", "PATCH", "DELETE")), draw.choice(paths), draw.choice(bodies)) for _ in range(count)
    ]


def test_r43_hundreds_of_malformed_requests_change_nothing(tmp_path: Path) -> None:
    """Each is refused with a reason, and a running game is not disturbed."""
    with running(tmp_path) as studio:
        designer = studio.designer
        study = designer.study("calm", PRESSED)
        _, token = designer.session(study)

        async def play() -> None:
            async with seated(designer, token) as client:
                await start(client)
                await press(client, 2)
                await save(client)
                before = await start(client, 1)
                await press(client, 3, before)
                await asyncio.to_thread(bother, studio, study)
                await client.press("ArrowLeft")
                await client.frame_of(4, before)
                assert (await save(client))["steps"] == 4

        run(play)


def bother(studio: StudioProcess, study: dict[str, Any]) -> None:
    """Sends malformed requests with all permissions, and checks that nothing changed."""
    designer = studio.designer
    (episode,) = designer.episodes(status="completed")

    def state() -> Any:
        path = f"replay/{episode['id']}/annotations"
        return designer.get("studies"), designer.episodes(), designer.get(path), designer.get("me")

    before = state()
    for method, path, body in nonsense(300, study["id"], episode["id"]):
        answer = designer.send(method, path, body)  # the last of them are also too many
        assert 400 <= answer.status_code < 500, (method, path, body[:50], answer.text)
        if answer.headers["content-type"] == "application/json":
            assert answer.json()["error"]["message"], (method, path, body[:50])
    assert state() == before
