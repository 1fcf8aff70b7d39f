"""Trials on a cluster of Ray on this machine: the same recordings, and the same ends where something fails."""

import asyncio
import dataclasses
import functools
import json
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import ray

from rlds_kit.base.extras import MissingExtraError
from rlds_kit.trials import FinishedTrial, Placement, Status, TrialHost, run_trials
from rlds_kit.trials.ray import RayCluster
from rlds_kit.trials.ray.ray_worker import RayWorker
from rlds_kit.trials.workers import requests
from rlds_kit.trials.workers.pool import EnvironmentLostError, WorkerPool
from tests.processes import is_gone
from tests.trials.hosts.running import CORRIDOR, corridor, odd, run
from tests.trials.ray.playing import content, play, reached

ROOT = Path(__file__).parents[3]
ENDLESS = odd("Slow", config={"seconds": 0.01, "action": "both"})


def test_without_ray_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(MissingExtraError, match=r"\[trials-ray\]"):
        RayCluster()


def test_a_host_is_here_or_on_a_cluster() -> None:
    """Both together are a mistake."""
    with pytest.raises(ValueError, match="expected is_here or a backend, got both"):
        TrialHost(is_here=True, backend=object())  # type: ignore[arg-type]  # it is refused before it is used


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayCluster]:
    """One of two CPUs for all tests: it takes seconds to start. Nothing of it is left in the end."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))  # where processes of Ray find modules
        with RayCluster(cpus=2) as found:
            yield found
            left = _descendants(os.getpid())
    _wait_until(lambda: all(map(is_gone, left)), "processes of Ray outlive it")
    assert not ray.is_initialized()


def _wait_until(condition: Any, what: str) -> None:
    end = time.monotonic() + 120
    while not condition():
        assert time.monotonic() < end, what
        time.sleep(0.05)


def _descendants(process: int) -> set[int]:
    """Processes of Ray that this one has started, and that they have."""
    found = set()
    for each in Path("/proc").glob("[0-9]*"):
        try:
            parent = int((each / "stat").read_text("utf-8").rpartition(")")[2].split()[1])
            command = (each / "cmdline").read_text("utf-8", errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        is_of_ray = ("/ray/" in command or "ray::" in command) and "forkserver" not in command
        if parent == process and is_of_ray:
            found |= {int(each.name), *_descendants(int(each.name))}
    return found


def _workers(host: TrialHost) -> list[RayWorker]:
    """The actors of Ray of a host: those of environments, and then those of actors."""
    assert host._pool is not None
    workers: list[Any] = [each._channel for each in host._pool._workers]
    return [*workers, *(each.place for each in host._actors._homes)]


@pytest.mark.thorough
def test_the_same_trial_gives_the_same_recording_everywhere(cluster: RayCluster, tmp_path: Path) -> None:
    """Seeded, with a network and with scripts, a swap, talk, and rewards in the middle and late."""
    where: dict[str, dict[str, Any]] = {"here": {"is_here": True}, "processes": {}, "ray": {"backend": cluster}}
    found = {}
    for name, options in where.items():
        run(functools.partial(play, tmp_path / name, **options))
        found[name] = content(tmp_path / name)
    assert found["processes"] == found["here"]
    assert found["ray"] == found["here"]
    assert len(found["here"][1]) > 10


@pytest.mark.thorough
def test_killed_processes_end_their_own_trials_and_no_others(cluster: RayCluster, tmp_path: Path) -> None:
    """As abandoned, with the reason and what was durable; the next ones run, and nothing is left in the end."""
    pids: list[int] = []

    async def test() -> list[FinishedTrial]:
        async with TrialHost(tmp_path, parallel=3, backend=cluster) as host:
            light = Placement(cpus=0)
            setup = dataclasses.replace(corridor(ENDLESS, max_steps=100_000), placement=light)
            killed, bereft, other = [await host.start(setup) for _ in range(3)]
            for each in (killed, bereft, other):
                await reached(host, each, 2)
            workers = _workers(host)
            pids.extend(each.pid for each in workers)
            assert len(set(pids)) == 6
            at = {run.id: run for run in host._runs.values()}
            environment: Any = at[killed].hosted
            os.kill(environment._environment._worker.pid, signal.SIGKILL)
            actor: Any = at[bereft].hosted
            os.kill(actor._seats._seats["player"].actor._home.place.pid, signal.SIGKILL)
            found = [await host.result(killed), await host.result(bereft)]
            before = {each.id: each.step for each in host.trials()}[other]
            await reached(host, other, before + 5)
            found.append(await host.result(await host.start(dataclasses.replace(corridor(), placement=light))))
            assert host.end(other, "enough")
            return [*found, await host.result(other)]

    killed, bereft, later, other = run(test)
    assert [each.status for each in (killed, bereft)] == [Status.ABANDONED] * 2
    assert "the process of the environment is gone: " in killed.reason
    assert "player: the process of the actor is gone: " in bereft.reason
    assert [each.status for each in (later, other)] == [Status.COMPLETED] * 2
    _wait_until(lambda: all(map(is_gone, pids)), "processes outlive their host")


@pytest.mark.thorough
def test_actors_fail_or_act_together_as_in_processes(cluster: RayCluster, tmp_path: Path) -> None:
    """Those that fail end their trials, or do their default action where they are optional; silent ones are killed."""
    default = odd("Outside", is_required=False, default_action=0)
    file = tmp_path / "batches.txt"
    together = [corridor(odd("Together", config={"file": str(file), "action": action})) for action in (1, 0)]
    failing = [corridor(odd("Raising")), corridor(default), corridor(odd("Silent"), answer_seconds=1.0)]
    setups = [*together, *failing]
    found = sorted(run_trials(setups, parallel=2, backend=cluster), key=lambda each: each.number)
    assert [each.totals["player"] for each in found[:2]] == [6.0, -6.0]
    assert len({line.split()[0] for line in file.read_text("utf-8").splitlines()}) == 1
    assert [each.status for each in found[2:]] == [Status.ABANDONED, Status.COMPLETED, Status.ABANDONED]
    assert "RuntimeError: it stumbled" in found[2].reason
    assert found[4].reason == "player gave no action in time"


@pytest.mark.thorough
def test_an_environment_that_is_silent_is_killed(cluster: RayCluster) -> None:
    """After the time that it has for an answer; its process is free for another."""

    async def test() -> None:
        async with WorkerPool(1, environments_per_worker=1, backend=cluster) as pool:
            spec = dataclasses.replace(CORRIDOR, kwargs={"trouble": "hang"}, is_for_people=False)
            environment = await pool.open(requests.Open(spec, None))
            await environment.request(requests.Reset(requests.View(quality=None), seed=1))
            step = requests.Step(requests.View(quality=None), {"player": 1})
            await environment.request(step)
            worker: Any = environment._worker._channel
            worker._answer_seconds = 1.0
            with pytest.raises(EnvironmentLostError, match="no answer to Step of environment 0 in 1 seconds"):
                await environment.request(step)
            assert pool.processes == []
            pid = worker.pid
            await asyncio.to_thread(_wait_until, lambda: is_gone(pid), "a silent process lives on")

    run(test)


@pytest.mark.slow  # it waits until Ray notices
def test_a_worker_that_dies_while_it_is_idle_is_noticed(cluster: RayCluster) -> None:
    """The next trial has another one, for its environment and for its actor."""

    async def test() -> None:
        async with TrialHost(parallel=1, backend=cluster) as host:
            for _ in range(2):
                assert (await host.result(await host.start(corridor()))).status is Status.COMPLETED
            workers = _workers(host)
            assert len(workers) == 2  # they are used again
            for each in workers:
                os.kill(each.pid, signal.SIGKILL)
            while any(each.is_alive for each in workers):  # noqa: ASYNC110  Ray has no events for it
                await asyncio.sleep(0.05)
            assert (await host.result(await host.start(corridor()))).status is Status.COMPLETED
            assert not {each.pid for each in workers} & {each.pid for each in _workers(host)}

    run(test)


@pytest.mark.slow  # it waits until Ray notices
def test_what_is_idle_makes_room_for_what_is_wanted(cluster: RayCluster, tmp_path: Path) -> None:
    """A cluster of two CPUs plays one trial after another whose environment and actor take one each."""
    file = tmp_path / "resources.json"
    wide = Placement(cpus=1, is_spread=False)
    setups = [
        dataclasses.replace(corridor(odd(name, placement=wide, **settings)), placement=wide)
        for name, settings in (("Right", {}), ("Placed", {"config": {"file": str(file)}}))
    ]
    found = list(run_trials(setups, parallel=1, backend=cluster))
    assert [(each.status, each.reason) for each in found] == [(Status.COMPLETED, "")] * 2
    assert json.loads(file.read_text("utf-8")) == {"CPU": 1.0}


@pytest.mark.thorough
def test_what_no_node_has_room_for_is_an_error_that_says_so(cluster: RayCluster, monkeypatch: Any) -> None:
    monkeypatch.setattr(cluster, "_start_seconds", 3.0)
    setup = dataclasses.replace(corridor(), placement=Placement(cpus=1, resources={"robot": 2}))
    (trial,) = run_trials(setup, 1, backend=cluster)
    assert trial.status is Status.ABANDONED
    wanted = "no node of the cluster had space for the environment, which takes 1 CPU, 2 robot, in 3 seconds"
    assert wanted in trial.reason
    assert "2 CPU" in trial.reason
