"""A trial with everything that a recording may depend on; it is to be the same wherever it is played."""

import dataclasses
from pathlib import Path
from typing import Any

import rlds_kit
from rlds_kit.trials import FinishedTrial, Phase, Placement, Status, TrialHost, TrialSetup
from tests.trials.hosts.running import ODD, PENNIES, odd

LENGTH = 12
Placements = tuple[Placement | None, Placement | None, Placement | None]
"""Of an environment and of the actors of its two seats."""
NOWHERE: Placements = (None, None, None)
NEURAL = ODD.replace("odd_actors", "neural_actors")


def neural(name: str, **settings: Any) -> Any:
    """An actor of that module."""
    return dataclasses.replace(odd(name, **settings), implementation=f"{NEURAL}:{name}")


def scene(first: Any = None, second: Any = None, where: Placements = NOWHERE) -> TrialSetup:
    """A trial of two seats; by default one waits to be swapped at the second step, and one heeds rewards."""
    actors = {
        seat: dataclasses.replace(actor, placement=place)
        for seat, actor, place in zip(
            ("odd", "even"), (first or neural("Waiting"), second or odd("Heeding")), where[1:], strict=True
        )
    }
    return TrialSetup(
        environment=dataclasses.replace(PENNIES, kwargs={"length": LENGTH}),
        actors=actors,
        seed=11,
        answer_seconds=300.0,
        placement=where[0],
    )


async def reached(host: TrialHost, trial: str, step: int) -> None:
    """Waits until a trial has done a step."""
    async for state in host.watch():
        if state.id == trial and state.step >= step:
            return
        assert state.id != trial or state.phase is not Phase.ENDED, await host.result(trial)


async def play(directory: Path, where: Placements = NOWHERE, **options: Any) -> FinishedTrial:
    """Plays the scene: a reward and a swap in the middle, talk and judgements to the end, rewards afterwards."""
    async with TrialHost(directory, parallel=1, **options) as host:
        return await play_on(host, where)


async def play_on(host: TrialHost, where: Placements = NOWHERE) -> FinishedTrial:
    """The same, on a host that runs."""
    trial = await host.start(scene(where=where))
    await reached(host, trial, 1)
    await host.reward(trial, "even", 0.5, source="ann", confidence=0.5, step=1)
    await host.swap(trial, "odd", neural("Neural", placement=where[1]))
    await host.result(trial)
    again = await host.start(scene(odd("Talking"), odd("Judging"), where))
    finished = await host.result(again)
    for name, step in ((trial, 2), (again, 3), (trial, LENGTH - 1)):
        await host.reward(name, "*", float(step), source="bob", step=step)
    assert finished.status is Status.COMPLETED, finished.reason
    return finished


def content(directory: Path) -> Any:
    """What must not differ of trials that were completed: digest, all rewards, and what they make of the recording."""
    dataset = rlds_kit.open(directory).where(lambda about: about.get("status") == Status.COMPLETED.value)
    given = [
        (number, each.source, each.field, each.value, each.confidence, each.steps, dict(each.user_data))
        for number, episode in enumerate(dataset.episodes)
        for each in dataset.layer("judgements").annotations(episode)
    ]
    amended = dataset.as_amended("judgements")
    rewards = [[step["reward"] for step in list(episode.steps)[:-1]] for episode in amended.episodes]
    return dataset.content_digest, given, rewards
