"""A program that runs trials is killed: what it acknowledged is on the disk, and nothing of it is left."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import rlds_kit
from rlds_kit.base.step import EpisodeEnd
from tests.processes import is_gone

SCRIPT = """
import asyncio
import json
import sys

from rlds_kit.trials import Phase, TrialHost
from tests.trials.hosts.running import corridor, odd


async def play():
    async with TrialHost(sys.argv[1], parallel=2) as host:
        first = await host.start(corridor())
        await host.result(first)
        slow = odd("Slow", config={"seconds": 0.01, "action": "both"})
        second = await host.start(corridor(slow, max_steps=100_000))
        pids = [*host._pool.processes, *(home.place.pid for home in host._actors._homes)]
        print(json.dumps(pids), flush=True)
        async for state in host.watch():
            if state.id == second and state.step >= 1:
                break
        number = 0
        while True:
            for trial in (first, second):
                number += 1
                await host.reward(trial, "player", float(number), source="ann", step=1)
                print(number, flush=True)


if __name__ == "__main__":
    asyncio.run(play())
"""
REWARDS = 60


def test_g15_rewards_that_were_acknowledged_outlive_kill_9(tmp_path: Path) -> None:
    """Of a trial that is over and of one that runs, whose steps are there too; its processes end by themselves."""
    script = tmp_path / "play.py"
    script.write_text(SCRIPT, "utf-8")
    checkout = Path(rlds_kit.__file__).parents[1]
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(checkout), os.environ.get("PYTHONPATH", "")])}
    directory = tmp_path / "data"
    command = [sys.executable, str(script), str(directory)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=env, text=True, start_new_session=True) as host:
        assert host.stdout is not None
        pids = json.loads(host.stdout.readline())
        acknowledged = [float(host.stdout.readline()) for _ in range(REWARDS)]
        host.kill()
        acknowledged += [float(line) for line in host.stdout.read().split()]
    _wait_until_gone(pids)
    dataset = rlds_kit.open(directory)
    given = [each for episode in dataset.episodes for each in dataset.layer("judgements").annotations(episode)]
    assert {each.value for each in given} >= set(acknowledged)
    assert {each.steps for each in given} == {range(1)}
    over, cut = dataset.episodes
    assert (over.end, over.length) == (EpisodeEnd.TERMINATED, 4)
    assert cut.end in {EpisodeEnd.INTERRUPTED, EpisodeEnd.INCOMPLETE}
    assert cut.length > 1


def _wait_until_gone(pids: list[int]) -> None:
    end = time.monotonic() + 60
    while not all(map(is_gone, pids)):
        assert time.monotonic() < end, "processes outlive the program"
        time.sleep(0.05)
