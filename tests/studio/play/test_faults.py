"""What goes wrong: connections, environments, workers, the server, its clock, its database."""

import asyncio
import contextlib
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.trials import Status
from tests.studio.play.server import CORRIDOR, LONG, Clock, entered, playing, pressed, run, scene, serving
from tests.studio.play.test_playing import end, walk
from tests.studio.studio_process import lengths, wait_for


def test_a_lost_person_comes_back_to_the_same_episode(tmp_path: Path) -> None:
    """It is paused meanwhile, and goes on when the person is ready."""
    with serving({"s": scene(LONG, tmp_path, fps=20.0)}) as served:

        async def play() -> None:
            async with playing(served.url) as client, entered(served.url, "s:bob:look") as observer:
                await client.send("keys", held={"ArrowRight": 1.0})
                await client.reached(1)
                await client.send("pause")
                await client.next_of("state", phase="paused")
                await client.lose()
                await observer.next_of("state", phase="paused")
                async with entered(served.url) as back:
                    state = await back.next_of("state", phase="paused", episode=0)
                    await back.reached(state["step"])
                    await back.send("resume")
                    await back.next_of("state", phase="running")
                    saved = await end(back, save=True, completed=False)
                    assert saved["steps"] >= state["step"] >= 1

        run(play)
    (recorded,) = rlds_kit.open(tmp_path).episodes[:1]
    assert recorded.metadata["status"] == "cancelled"


def test_a_game_without_its_person_is_paused_and_given_up(tmp_path: Path) -> None:
    """After the time to come back; what was played is kept."""
    with serving({"s": pressed(CORRIDOR, tmp_path, limits={"grace_seconds": 0.5})}) as served:

        async def play() -> None:
            async with entered(served.url, "s:bob:look") as observer:
                async with playing(served.url) as client:
                    await walk(client, 3)
                    await client.lose()
                await observer.next_of("state", phase="paused", reason="the connection of player was lost")
                await observer.next_of("saved", status="abandoned", steps=3)
                assert (await observer.is_closed())[0] == 4000

        run(play)
        assert served.host.reasons == {"s": "player did not come back"}
    assert rlds_kit.open(tmp_path).episodes[0].length == 4


def test_of_two_tabs_the_newer_one_plays(tmp_path: Path) -> None:
    """The older one is told and closed; keys that it still sends do nothing."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as old:
                await walk(old, 2)
                async with entered(served.url) as new:
                    await old.next_of("notice", code="displaced")
                    assert (await old.is_closed())[0] == 4001
                    await new.next_of("state", phase="running", step=2)
                    await new.press("ArrowRight")
                    await new.frame_of(3)
                    assert (await end(new, save=True, completed=True))["steps"] == 3

        run(play)
    assert rlds_kit.open(tmp_path).episodes[0].length == 4


@pytest.mark.thorough
@pytest.mark.parametrize(("trouble", "said"), [("crash", "the corridor fell in"), ("hang", "no answer to Step")])
def test_r26_an_environment_that_fails_abandons_its_episode_only(trouble: str, said: str, tmp_path: Path) -> None:
    """People are told; the next episode is made ready in a new one; the server lives."""
    scenes = {
        "bad": pressed(CORRIDOR, tmp_path / "bad", kwargs={"trouble": trouble}),
        "good": pressed(CORRIDOR, tmp_path / "good"),
    }
    with serving(scenes, workers=2, answer_seconds=8.0) as served:

        async def play() -> None:
            async with playing(served.url, "bad:ann") as bad, playing(served.url, "good:bob") as good:
                await bad.press("ArrowRight")
                await bad.press("ArrowRight")
                assert said in (await bad.next_of("notice", code="environment"))["message"]
                await bad.next_of("notice", code="interrupted")
                await bad.next_of("state", phase="waiting", episode=1)
                await walk(good, 4)
                assert (await end(good, save=True, completed=True))["steps"] == 4

        run(play)
    first = served.host.episodes[0]
    assert (first.session, first.status, first.is_whole, first.steps) == ("bad", Status.ABANDONED, False, 1)
    assert said in first.reason


@pytest.mark.skipif(sys.platform != "linux", reason="prlimit")
def test_a_full_disk_is_no_saved_episode(tmp_path: Path) -> None:
    """The person who wants it saved is told that it is not; what was durable is there; others play on."""
    scenes = {each: pressed(CORRIDOR, tmp_path / each) for each in ("bad", "good")}
    with serving(scenes, workers=2) as served:

        async def play() -> None:
            async with playing(served.url, "good:bob") as good, playing(served.url, "bad:ann") as bad:
                await walk(bad, 4)
                await bad.send("cancel")
                await bad.next_of("ask")
                await asyncio.to_thread(wait_for, lambda: lengths(tmp_path / "bad") == [5])
                resource.prlimit(served.pool.processes[1], resource.RLIMIT_FSIZE, (1, resource.RLIM_INFINITY))
                await bad.send("confirm", save=True, completed=True)
                assert "File too large" in (await bad.next_of("notice", code="environment"))["message"]
                await bad.next_of("notice", code="interrupted")
                assert (await bad.is_closed())[0] == 4000
                assert not [said for said in bad.said if said["type"] == "saved"]
                await walk(good, 4)
                assert (await end(good, save=True, completed=True))["steps"] == 4

        run(play)
    lost = next(each for each in served.host.episodes if each.session == "bad")
    assert (lost.status, lost.is_whole, lost.steps) == (Status.ABANDONED, False, 4)
    assert "File too large" in lost.reason
    assert all(each.end is EpisodeEnd.INCOMPLETE for each in rlds_kit.open(tmp_path / "bad").episodes)


def test_a_disk_that_is_full_while_playing_ends_the_episode(tmp_path: Path) -> None:
    """Within the second after which steps are durable: nobody goes on playing for nothing."""
    with serving({"s": pressed(CORRIDOR, tmp_path, kwargs={"trouble": "full"})}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                with contextlib.suppress(ConnectionClosed):
                    while not client.closed:
                        await client.press("ArrowLeft")
                        await client.press("ArrowRight")
                        await asyncio.sleep(0.02)
                await client.next_of("notice", code="interrupted")

        run(play)
    assert (served.host.episodes[0].status, served.host.episodes[0].is_whole) == (Status.ABANDONED, False)


def test_r26_a_session_whose_environment_fails_and_fails_is_over(tmp_path: Path) -> None:
    """The third time nothing new is made."""
    with serving({"s": pressed(CORRIDOR, tmp_path, kwargs={"trouble": "crash"})}) as served:

        async def play() -> None:
            async with entered(served.url) as client:
                for number in range(3):
                    await client.next_of("state", phase="waiting", episode=number)
                    await client.send("start")
                    await client.next_of("state", phase="running", episode=number)
                    await client.press("ArrowRight")
                    with contextlib.suppress(ConnectionClosed):  # the third time perhaps, before the key is let go
                        await client.press("ArrowRight")
                assert (await client.is_closed())[0] == 4000

        run(play)
    assert "failed 3 times" in served.host.reasons["s"]


def test_a_worker_that_is_killed_loses_a_second_at_most(tmp_path: Path) -> None:
    """The episode is abandoned, the next one is another one, nothing is merged."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 10)
                await asyncio.to_thread(wait_for, lambda: lengths(tmp_path) == [11])
                await client.press("ArrowRight")
                await client.frame_of(11)
                os.kill(served.pool.processes[0], signal.SIGKILL)
                await client.next_of("notice", code="interrupted")
                await client.next_of("state", phase="waiting", episode=1)
                await client.send("start")
                await client.next_of("state", phase="running", episode=1)
                seen = len(client.frames)
                await walk(client, 3, seen)
                await end(client, save=True, completed=True)

        run(play)
    lost, kept = served.host.episodes[:2]
    assert (lost.status, lost.steps, lost.is_whole) == (Status.ABANDONED, 11, False)
    first, second = rlds_kit.open(tmp_path).episodes
    assert [first.id.hex, second.id.hex] == [lost.episode_id, kept.episode_id]
    assert first.length in {11, 12}
    assert (first.end, second.length) == (EpisodeEnd.INCOMPLETE, 4)


SERVER = """
import sys, threading
from pathlib import Path
from tests.studio.play.server import pressed, serving

if __name__ == "__main__":
    with serving({"s": pressed(sys.argv[1], Path(sys.argv[2]))}) as served:
        print(served.port, *served.pool.processes, flush=True)
        sys.stdin.readline()
"""


def test_a_server_that_is_killed_loses_nothing_that_was_seen(tmp_path: Path) -> None:
    """What was saved is saved, what was being played ends as interrupted; a new server begins new episodes."""
    script, data = tmp_path / "serve.py", tmp_path / "data"
    script.write_text(SERVER)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    for number in range(2):
        with subprocess.Popen(
            [sys.executable, str(script), CORRIDOR, str(data)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=env,
        ) as server:
            assert server.stdout is not None
            url = f"ws://127.0.0.1:{server.stdout.readline().split()[0]}/ws/play"

            async def play(url: str = url, server: subprocess.Popen[str] = server, steps: int = 3 + number) -> None:
                async with playing(url) as client:
                    await walk(client, 2)
                    await end(client, save=True, completed=True)
                    await client.next_of("state", phase="waiting", episode=1)
                    await client.send("start")
                    await client.next_of("state", phase="running", episode=1)
                    await walk(client, steps, len(client.frames))
                    server.send_signal(signal.SIGKILL)

            run(play)
        _wait_for_episodes(data, 2 * number + 2)
    episodes = rlds_kit.open(data).episodes
    assert sorted(each.length for each in episodes) == [3, 3, 4, 5]
    assert sorted(each.metadata.get("status", "") for each in episodes) == ["", "", "completed", "completed"]
    assert len({each.id for each in episodes}) == 4


def _wait_for_episodes(data: Path, count: int) -> None:
    """Until the workers of a dead server have closed their recordings."""

    def are_closed() -> bool:
        episodes = rlds_kit.open(data).episodes
        return len(episodes) == count and not any(each.end is EpisodeEnd.INCOMPLETE for each in episodes)

    wait_for(are_closed)


@pytest.mark.parametrize("jump", [-3_600_000_000_000, 5_000_000_000])
def test_a_clock_that_jumps_does_no_harm(jump: int, tmp_path: Path) -> None:
    """Back or forward: the beat goes on, no steps are made up for in a burst, and the record says one was late."""
    clock = Clock()
    scenes = {"s": scene(LONG, tmp_path, fps=20.0, limits={"idle_seconds": None})}
    with serving(scenes, clock=clock) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await client.reached(2)
                clock.offset += jump
                await client.reached(6)
                await client.send("pause")
                await client.next_of("state", phase="paused")

        run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert episode.length < 60
    assert episode.metadata["late_steps"] >= (jump > 0)
    late = [step["play"]["is_late"] for step in list(episode.steps)[:-1]]
    assert sum(late) == episode.metadata["late_steps"]


def test_a_database_that_is_gone_does_not_stop_a_game(tmp_path: Path) -> None:
    """It is not said that an episode was saved before it is in the list; when the database is back, all of them are."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 3)
                served.host.is_broken = True
                await client.send("cancel")
                await client.next_of("ask")
                await client.send("confirm", save=True, completed=True)
                await client.next_of("notice", code="database")
                await client.next_of("state", phase="waiting", episode=1)
                await client.send("start")
                await client.next_of("state", phase="running", episode=1)
                await walk(client, 2, len(client.frames))
                await client.send("cancel")
                await client.next_of("ask", since=len(client.said) - 1)
                await client.send("confirm", save=True, completed=False)
                await client.next_of("state", phase="waiting", episode=2)
                assert not [said for said in client.said if said["type"] == "saved"]
                served.host.is_broken = False
                await client.next_of("saved", episode=0, status="completed")
                await client.next_of("saved", episode=1, status="cancelled")

        run(play)
        first, second = served.host.episodes[:2]
        assert served.host.begun_ids[:2] == [first.episode_id, second.episode_id]
    assert [each.metadata["status"] for each in rlds_kit.open(tmp_path).episodes[:2]] == ["completed", "cancelled"]


def test_a_database_that_is_gone_when_the_server_ends_loses_no_recording(tmp_path: Path) -> None:
    """What it was not told stands in the metadata of the episodes."""
    with serving({"s": pressed(CORRIDOR, tmp_path)}) as served:

        async def play() -> None:
            async with playing(served.url) as client:
                await walk(client, 3)
                served.host.is_broken = True
                await client.send("leave")
                await client.is_closed()

        run(play)
    assert served.host.episodes == []
    episode = rlds_kit.open(tmp_path).episodes[0]
    known = {name: episode.metadata[name] for name in ("session", "number", "status", "reason")}
    assert known == {"session": "s", "number": 0, "status": "abandoned", "reason": "everybody left"}
