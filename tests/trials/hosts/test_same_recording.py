"""The same trial is the same recording, also on a host whose processes were killed before."""

import functools
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from rlds_kit.trials import Status, TrialHost
from tests.trials.hosts.running import run
from tests.trials.ray.playing import content, play, play_on, reached, scene

pytest.importorskip("pettingzoo")


def _pid_of_environment(host: TrialHost, trial: str) -> int:
    hosted: Any = host._runs[trial].hosted
    pid: int = hosted._environment._worker.pid
    return pid


def _pid_of_actor(host: TrialHost, trial: str) -> int:
    hosted: Any = host._runs[trial].hosted
    pid: int = hosted._seats._seats["odd"].actor._home.place.pid
    return pid


@pytest.mark.thorough
def test_a_trial_that_is_played_again_after_a_kill_is_recorded_as_elsewhere(tmp_path: Path) -> None:
    """Seeded, with a network and with scripts, a swap, talk, and rewards in the middle and late: digest for digest."""

    async def test() -> None:
        async with TrialHost(tmp_path / "killed", parallel=1) as host:
            for pid_of in (_pid_of_environment, _pid_of_actor):
                trial = await host.start(scene())
                await reached(host, trial, 1)
                os.kill(pid_of(host, trial), signal.SIGKILL)
                assert (await host.result(trial)).status is Status.ABANDONED
            await play_on(host)

    run(test)
    run(functools.partial(play, tmp_path / "here", is_here=True))
    assert content(tmp_path / "killed") == content(tmp_path / "here")
    assert len(content(tmp_path / "here")[1]) > 10
