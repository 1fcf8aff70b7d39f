"""What the head node of three runs: the scene, trials while another node fails, and the scene again.

Arguments: the fault, the name of the host that it befalls, and a directory. Prints what happened, as JSON.
"""

import asyncio
import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import ray

from rlds_kit.trials import FinishedTrial, Placement, TrialHost, TrialSetup
from rlds_kit.trials.ray import RayCluster
from tests.trials.hosts.running import corridor, odd
from tests.trials.ray.playing import Placements, play, reached

ENDLESS = odd("Slow", config={"seconds": 0.01, "action": "both"})


def on(node: int, cpus: float = 0) -> Placement:
    """On one of the nodes, which have a resource of that name."""
    return Placement(cpus=cpus, resources={f"node{node}": 1})


def endless(environment: int, actor: int) -> TrialSetup:
    """A trial that goes on until something ends it."""
    player = dataclasses.replace(ENDLESS, placement=on(actor))
    setup = corridor(player, max_steps=1_000_000, answer_seconds=300.0)  # Ray notices a cut sooner
    return dataclasses.replace(setup, placement=on(environment))


def fail(fault: str, host: str) -> None:
    """Has a node fail: its processes are killed, its raylet is, or its cable is cut."""
    if fault == "cut":
        subprocess.run(["ip", "-n", host, "link", "set", "cable", "down"], check=True)
        return
    found = subprocess.run(["ip", "netns", "pids", host], check=True, capture_output=True, text=True)
    for each in map(int, found.stdout.split()):
        if fault == "kill" or Path(f"/proc/{each}/comm").read_text("utf-8").strip() == "raylet":
            os.kill(each, signal.SIGKILL)


async def suffer(fault: str, host: str, directory: Path, cluster: RayCluster) -> dict[str, Any]:
    """Four trials run, of which two use the third node when it fails; then two more run."""
    async with TrialHost(directory, parallel=6, backend=cluster) as trials:
        places = {"environment": (3, 1), "actor": (2, 3), "near": (1, 2), "far": (2, 1)}
        ids = {name: await trials.start(endless(*nodes)) for name, nodes in places.items()}
        for each in ids.values():
            await reached(trials, each, 100)  # which takes longer than a second: they are on the disk
        fail(fault, host)
        before = {state.id: state.step for state in trials.trials()}
        ended = {name: _ended(await trials.result(ids[name])) for name in ("environment", "actor")}
        for name in ("near", "far"):
            await reached(trials, ids[name], before[ids[name]] + 20)
        later = [await trials.start(corridor(dataclasses.replace(odd(name)))) for name in ("Right", "Later")]
        found = [_ended(await trials.result(each)) for each in later]
        for name in ("near", "far"):
            trials.end(ids[name], "enough")
            ended[name] = _ended(await trials.result(ids[name]))
    return {"ended": ended, "later": found, "nodes": sum(bool(each["Alive"]) for each in _nodes())}


def _nodes() -> list[dict[str, Any]]:
    library: Any = ray
    found: list[dict[str, Any]] = library.nodes()
    return found


def _ended(trial: FinishedTrial) -> dict[str, Any]:
    status = None if trial.status is None else trial.status.value
    return {"status": status, "reason": trial.reason, "steps": trial.steps, "episode": trial.episode_id}


def main() -> None:
    fault, host, address, directory = sys.argv[1:]
    spread: Placements = (on(3), on(2), on(1))
    moved: Placements = (on(2), on(1), on(2))
    with RayCluster(address, environment=Placement(cpus=0), start_seconds=200) as cluster:
        asyncio.run(play(Path(directory, "before"), spread, backend=cluster, start_seconds=300))
        found = asyncio.run(suffer(fault, host, Path(directory, "trials"), cluster))
        asyncio.run(play(Path(directory, "after"), moved, backend=cluster, start_seconds=300))
    print(json.dumps(found))


if __name__ == "__main__":
    main()
