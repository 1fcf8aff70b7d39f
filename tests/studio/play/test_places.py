"""There is room for so many environments: who is there keeps a place, who is gone gives it up."""

import asyncio
import os
import signal
from pathlib import Path

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.studio.play.live_sessions import LiveSessions
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.placement import Placement
from rlds_kit.trials.workers.pool import Environment, PoolFullError, WorkerPool
from tests.studio.play.server import (
    CORRIDOR,
    PATIENCE,
    Clock,
    Hosting,
    Served,
    entered,
    playing,
    pressed,
    run,
    serving,
)

GRACE = {"grace_seconds": 0.2}


async def is_refused(served: Served, person: str) -> None:
    """Somebody comes, and there is no room."""
    async with entered(served.url, person) as client:
        await client.next_of("error", code="full")
        assert "as many as there may be" in client.said[-1]["message"]


def test_a_session_that_nobody_looks_at_gives_its_place_to_somebody_who_comes(tmp_path: Path) -> None:
    """Somebody looked on and left before anybody played: their session ends, and the next one begins."""
    scenes = {"left": pressed(CORRIDOR, tmp_path / "left", limits=GRACE), "new": pressed(CORRIDOR, tmp_path / "new")}
    with serving(scenes, environments_per_worker=1) as served:

        async def play() -> None:
            async with entered(served.url, "left:ann:look") as ann:
                await ann.next_of("state", phase="waiting")
                await is_refused(served, "new:bob")
            await _until_refused_no_more(served, "new:bob")
            async with playing(served.url, "new:bob") as bob:
                await bob.press("ArrowRight")
                await bob.frame_of(1)
                assert served.host.reasons == {"left": "no person was connected, and another session needed the place"}

        run(play)


def test_a_session_with_a_window_keeps_its_place(tmp_path: Path) -> None:
    """However long nothing is done in it; what is played there goes on."""
    scenes = {name: pressed(CORRIDOR, tmp_path / name, limits=GRACE) for name in ("kept", "new")}
    with serving(scenes, environments_per_worker=1) as served:

        async def play() -> None:
            async with playing(served.url, "kept:ann") as ann:
                await asyncio.sleep(2 * GRACE["grace_seconds"])
                await is_refused(served, "new:bob")
                await ann.press("ArrowRight")
                await ann.frame_of(1)

        run(play)


def test_a_lost_person_keeps_the_place_for_a_while(tmp_path: Path) -> None:
    """As long as the game waits for them to come back."""
    scenes = {name: pressed(CORRIDOR, tmp_path / name) for name in ("lost", "new")}
    with serving(scenes, environments_per_worker=1) as served:

        async def play() -> None:
            async with playing(served.url, "lost:ann") as ann:
                await ann.press("ArrowRight")
                await ann.frame_of(1)
                await ann.lose()
            await is_refused(served, "new:bob")
            async with entered(served.url, "lost:ann") as ann:
                await ann.send("start")
                await ann.press("ArrowLeft")
                await ann.frame_of(2)

        run(play)
    (episode,) = rlds_kit.open(tmp_path / "lost").episodes[:1]
    assert (len(episode), episode.end) == (3, EpisodeEnd.INTERRUPTED)


class Filling(WorkerPool):
    """A pool whose places are all taken by others from some moment on."""

    is_full = False

    async def open(self, request: requests.Open, placement: Placement | None = None) -> Environment:
        """Makes an environment, while there is a place."""
        if self.is_full:
            raise PoolFullError("as many as there may be")
        return await super().open(request, placement)


def test_a_session_that_lost_its_environment_gives_up_no_place(tmp_path: Path) -> None:
    """It has none: where somebody else took the place meanwhile it ends, and waits for nobody, least of all itself."""
    clock = Clock()

    async def play() -> None:
        async with Filling(1) as pool:
            host = Hosting({"left": pressed(CORRIDOR, tmp_path)})
            live_sessions = LiveSessions(pool, host, clock)
            left = await live_sessions.of("left", "ann")
            clock.offset += 61_000_000_000
            assert left.is_left
            pool.is_full = True
            os.kill(pool.processes[0], signal.SIGKILL)
            await asyncio.wait_for(live_sessions.end_of("left"), PATIENCE)
            assert host.reasons == {"left": "as many as there may be"}
            await live_sessions.close()

    run(play)


def test_one_person_may_play_so_many_sessions_at_once(tmp_path: Path) -> None:
    """The next one is refused with the number, until one of them is left; others may come all the time."""
    scenes = {name: pressed(CORRIDOR, tmp_path / name) for name in "abc"}
    with serving(scenes, sessions_per_person=1) as served:

        async def play() -> None:
            async with entered(served.url, "a:ann") as first:
                await first.next_of("state", phase="waiting")
                async with entered(served.url, "b:ann") as second:
                    assert (
                        "you play 1 sessions of this study at once"
                        in (await second.next_of("error", code="sessions"))["message"]
                    )
                async with entered(served.url, "b:bob") as other, entered(served.url, "a:ann") as again:
                    await other.next_of("state", phase="waiting")
                    await again.send("leave")
                    await again.is_closed()
            await _until_refused_no_more(served, "c:ann")

        run(play)


async def _until_refused_no_more(served: Served, person: str) -> None:
    async with asyncio.timeout(PATIENCE):
        while True:
            async with entered(served.url, person) as client:
                said = await client.until(lambda me: me.said)
                if said[0]["type"] == "welcome":
                    return
