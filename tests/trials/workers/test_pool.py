"""Environments in worker processes: played, recorded, lost and closed."""

import asyncio
import os
import pickle
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from rlds_kit.trials.environments.playable import EnvironmentSpec
from rlds_kit.trials.frames.picture import Codec, Quality
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import Environment, EnvironmentLostError, RequestFailedError, WorkerPool
from tests.processes import is_gone
from tests.studio.studio_process import lengths, wait_for

LOOK = requests.View(quality=Quality.EXACT)
CORRIDOR = "tests.trials.environments.odd_environments:rlds_kit_tests/Corridor-v0"


def corridor(trouble: str = "", **kwargs: Any) -> EnvironmentSpec:
    """The environment of the tests; Gymnasium imports what stands before the colon."""
    return EnvironmentSpec(CORRIDOR, {"trouble": trouble, **kwargs})


def run(test: Callable[[], Awaitable[None]]) -> None:
    """Runs a test to its end."""
    asyncio.run(asyncio.wait_for(test(), 100))


@asynccontextmanager
async def opened(spec: EnvironmentSpec, directory: Path | None, **options: Any) -> AsyncIterator[Environment]:
    """An environment in a pool of its own."""
    async with WorkerPool(1, **options) as pool:
        yield await pool.open(requests.Open(spec, None if directory is None else str(directory)))


def step(*actions: int) -> list[requests.Step]:
    """Steps of the only seat."""
    return [requests.Step(LOOK, {"player": action}, {"player": {"keys": {"ArrowLeft": 1.0}}}) for action in actions]


def test_what_is_recorded_is_what_the_environment_did(tmp_path: Path) -> None:
    """Bit for bit as the same actions give it offline with the same seed; keys stand beside the actions."""
    actions = [0, 1, 1, 1, 1]

    async def play() -> None:
        async with opened(corridor(), tmp_path) as environment:
            begun = await environment.request(
                requests.Reset(LOOK, seed=5, options={"place": 0}, metadata={"user": "ann"})
            )
            found = [await environment.request(each) for each in step(*actions)]
            assert [each.step for each in found] == [1, 2, 3, 4, 5]
            assert [each.terminated for each in found] == [False, False, False, False, True]
            await environment.request(requests.Finish({"status": "completed"}))
            assert rlds_kit.open(tmp_path).episodes[0].id.hex == begun.episode_id

    run(play)
    (episode,) = rlds_kit.open(tmp_path).episodes
    assert (episode.end, episode.seed) == (EpisodeEnd.TERMINATED, 5)
    arrows = {"actions": [{"name": "0", "keys": ["ArrowLeft"]}, {"name": "1", "keys": ["ArrowRight"]}]}
    controls = {"player": {**arrows, "default": 0, "first": 0}}
    assert episode.metadata == {"user": "ann", "status": "completed", "controls": controls}
    with gymnasium.make(CORRIDOR) as offline:
        observation, info = offline.reset(seed=5)
        for number, action in enumerate(actions):
            recorded = episode.steps[number]
            np.testing.assert_array_equal(recorded["observation"], observation)
            assert (recorded["info"], recorded["action"]) == (info, action)
            assert recorded["play"] == {"player": {"keys": {"ArrowLeft": 1.0}}}
            observation, reward, *_, info = offline.step(action)
            assert recorded["reward"] == reward
        np.testing.assert_array_equal(episode.steps[5]["observation"], observation)


@pytest.mark.thorough  # waits until the time for an answer is over
def test_a_request_that_cannot_be_sent_harms_no_other() -> None:
    """Whoever asks hears of it; the process and its environments go on, also when the time for an answer is over."""
    lost: list[str] = []

    async def play() -> None:
        async with opened(corridor(), None, answer_seconds=8) as environment, asyncio.timeout(60):
            environment.on_lost = lost.append
            await environment.request(requests.Reset(LOOK, seed=0))
            with pytest.raises((AttributeError, pickle.PicklingError)):
                await environment.request(requests.Reset(LOOK, seed=0, options={"no": lambda: None}))
            await asyncio.sleep(8.5)
            await environment.request(*step(1))

    run(play)
    assert lost == []


def test_who_waits_while_the_pool_is_closed_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the process hangs and is killed in the end."""
    monkeypatch.setattr("rlds_kit.trials.workers.pool.CLOSE_SECONDS", 0.2)

    async def play() -> None:
        async with WorkerPool(1) as pool:
            environment = await pool.open(requests.Open(corridor(), None))
            os.kill(pool.processes[0], signal.SIGSTOP)
            waiting = asyncio.create_task(environment.request(requests.Reset(LOOK, seed=0)))
            await asyncio.sleep(0)
            await pool.close()
            with pytest.raises(EnvironmentLostError, match="shut down"):
                await waiting

    run(play)


def test_flat_pictures_are_exact_whatever_the_quality() -> None:
    """Text is text; without a wish for a picture there is none."""

    async def play() -> None:
        async with opened(corridor(), None) as environment:
            begun = await environment.request(requests.Reset(LOOK, seed=0))
            assert (begun.episode_id, begun.picture.codec) == ("", Codec.PNG)
            low = await environment.request(requests.Show(requests.View(quality=Quality.LOW)))
            assert low == begun.picture  # what is flat is exact at every quality
            nothing = await environment.request(requests.Show(requests.View(quality=None)))
            assert (nothing.codec, nothing.data) == (Codec.NOTHING, b"")
        async with opened(corridor(render_mode="ansi"), None) as environment:
            begun = await environment.request(requests.Reset(LOOK, seed=0))
            assert (begun.picture.codec, begun.picture.data) == (Codec.TEXT, b"...@...")

    run(play)


def test_what_there_is_to_know_of_an_environment() -> None:
    """Seats, controls and the rate that it was made for."""

    async def look() -> None:
        async with opened(corridor(), None) as environment:
            assert (environment.opened.seats, environment.opened.rate) == (("player",), 20.0)
            controller = environment.opened.controls["player"].controller()
            assert controller.act({"ArrowRight": 1.0}) == 1

    run(look)


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("crash", "RuntimeError: the corridor fell in"),
        ("exit", "ended with code 3"),
        ("hang", "no answer to Step of environment 0 in 8 seconds"),
    ],
)
def test_trouble_ends_the_episode_and_keeps_what_was_played(trouble: str, said: str, tmp_path: Path) -> None:
    """Every step that was answered is there; nothing else is disturbed; another environment can be made."""

    async def play() -> None:
        async with WorkerPool(1, answer_seconds=8) as pool:
            environment = await pool.open(requests.Open(corridor(trouble), str(tmp_path)))
            await environment.request(requests.Reset(LOOK, seed=0))
            await environment.request(*step(1))
            await asyncio.to_thread(wait_for, lambda: lengths(tmp_path) == [2])
            with pytest.raises(EnvironmentLostError, match=said):
                await environment.request(*step(1))
            with pytest.raises(EnvironmentLostError):
                await environment.request(*step(1))
            again = await pool.open(requests.Open(corridor(), str(tmp_path)))
            await again.request(requests.Reset(LOOK, seed=1))
            await again.request(requests.Finish({}))

    run(play)
    first, second = rlds_kit.open(tmp_path).episodes
    assert (first.length, second.seed) == (2, 1)
    assert first.end in {EpisodeEnd.INTERRUPTED, EpisodeEnd.INCOMPLETE}


def test_a_crash_leaves_the_others_of_its_process_alone(tmp_path: Path) -> None:
    """What an environment raises is its own trouble."""

    async def play() -> None:
        async with WorkerPool(1) as pool:
            bad = await pool.open(requests.Open(corridor("crash"), str(tmp_path / "bad")))
            good = await pool.open(requests.Open(corridor(), str(tmp_path / "good")))
            for each in (bad, good):
                await each.request(requests.Reset(LOOK, seed=0))
                await each.request(*step(1))
            with pytest.raises(EnvironmentLostError):
                await bad.request(*step(1))
            assert (await good.request(*step(1))).step == 2
            await good.request(requests.Finish({}))

    run(play)
    assert rlds_kit.open(tmp_path / "good").episodes[0].length == 3


def test_a_killed_worker_is_noticed_and_its_environments_are_told(tmp_path: Path) -> None:
    """Also by those of whom nothing was asked. What was durable is there."""

    async def play() -> None:
        async with WorkerPool(1) as pool:
            environments = [await pool.open(requests.Open(corridor(), str(tmp_path))) for _ in range(2)]
            told: list[str] = []
            for each in environments:
                each.on_lost = told.append
                await each.request(requests.Reset(LOOK, seed=0))
                await each.request(*step(1))
            await asyncio.to_thread(wait_for, lambda: lengths(tmp_path) == [2, 2])
            os.kill(pool.processes[0], signal.SIGKILL)
            await asyncio.to_thread(wait_for, lambda: len(told) == 2)
            assert told == ["the process of the environment ended with code -9"] * 2
            again = await pool.open(requests.Open(corridor(), None))
            await again.request(requests.Reset(LOOK, seed=1))

    run(play)
    assert [each.length for each in rlds_kit.open(tmp_path).episodes] == [2, 2]


def test_environments_are_spread_over_processes_and_limited() -> None:
    """One more than fits is refused."""

    async def play() -> None:
        async with WorkerPool(2, environments_per_worker=2) as pool:
            for _ in range(4):
                await pool.open(requests.Open(corridor(), None))
            assert len(pool.processes) == 2
            with pytest.raises(RequestFailedError, match="4 environments already"):
                await pool.open(requests.Open(corridor(), None))

    run(play)


def test_an_environment_goes_to_an_idle_process_before_another_one_starts(tmp_path: Path) -> None:
    """After an environment that was closed, and after one that raised an error."""

    async def play() -> None:
        async with WorkerPool(3) as pool:
            closed = await pool.open(requests.Open(corridor(), None))
            (process,) = pool.processes
            await closed.close()
            failing = await pool.open(requests.Open(corridor("crash"), str(tmp_path)))
            await failing.request(requests.Reset(LOOK, seed=0))
            await failing.request(*step(1))
            with pytest.raises(EnvironmentLostError):
                await failing.request(*step(1))
            await pool.open(requests.Open(corridor(), None))
            assert [*pool.processes] == [process]

    run(play)


def test_what_cannot_be_made_says_why() -> None:
    async def play() -> None:
        async with WorkerPool(1) as pool:
            for spec in (EnvironmentSpec("Nothing-v0"), corridor(colour="red")):
                with pytest.raises(RequestFailedError, match=r"Nothing|colour"):
                    await pool.open(requests.Open(spec, None))

    run(play)


def test_an_episode_that_is_not_kept_leaves_nothing(tmp_path: Path) -> None:
    """Its steps are not shown by any reader."""

    async def play() -> None:
        async with opened(corridor(), tmp_path) as environment:
            for is_kept in (False, True):
                await environment.request(requests.Reset(LOOK, seed=3))
                await environment.request(*step(1))
                await environment.request(requests.Finish({"status": "x"}, is_kept=is_kept))

    run(play)
    assert len(rlds_kit.open(tmp_path).episodes) == 1


def test_the_limit_of_a_study_truncates(tmp_path: Path) -> None:
    """The recording says so, whatever the environment says."""

    async def play() -> None:
        async with opened(corridor(), tmp_path) as environment:
            await environment.request(requests.Reset(LOOK, seed=3))
            found = await environment.request(requests.Step(LOOK, {"player": 1}, is_last=True))
            assert (found.terminated, found.truncated) == (False, True)
            await environment.request(requests.Finish({}))

    run(play)
    assert rlds_kit.open(tmp_path).episodes[0].end is EpisodeEnd.TRUNCATED


def test_a_policy_acts_where_no_person_does(tmp_path: Path) -> None:
    """Seeded with the episode, so the same again."""

    async def play() -> None:
        async with opened(corridor(), tmp_path) as environment:
            for _ in range(2):
                await environment.request(requests.Reset(LOOK, seed=11))
                for _ in range(2):
                    await environment.request(requests.Step(LOOK, {}))
                await environment.request(requests.Finish({}))

    run(play)
    first, second = rlds_kit.open(tmp_path).episodes
    np.testing.assert_array_equal(first["action"], second["action"])


SERVER = """
import asyncio, sys
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import WorkerPool
from tests.trials.workers.test_pool import LOOK, corridor, step

async def serve():
    pool = WorkerPool(1)
    environment = await pool.open(requests.Open(corridor(), sys.argv[1]))
    await environment.request(requests.Reset(LOOK, seed=0))
    await environment.request(*step(1))
    print(*pool.processes, flush=True)
    await asyncio.sleep(100)

if __name__ == "__main__":
    asyncio.run(serve())
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGKILL")
def test_a_killed_server_leaves_no_orphans_and_its_episodes_are_closed(tmp_path: Path) -> None:
    """Workers write what there is and go."""
    script = tmp_path / "serve.py"
    script.write_text(SERVER)
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    with subprocess.Popen(
        [sys.executable, str(script), str(tmp_path / "data")], stdout=subprocess.PIPE, text=True, env=env
    ) as server:
        assert server.stdout is not None
        worker = int(server.stdout.readline())
        server.send_signal(signal.SIGKILL)
    wait_for(lambda: is_gone(worker))
    (episode,) = rlds_kit.open(tmp_path / "data").episodes
    assert (episode.length, episode.end) == (2, EpisodeEnd.INTERRUPTED)
