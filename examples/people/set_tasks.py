"""A person sets tasks: it watches how an agent does, and makes the next task harder when the agent is ready.

A task is how far from the middle an episode of CartPole begins. A hook puts the task that the person has chosen into
each trial, and it is recorded as a property. The person is simulated: after three good trials in a row, the next task
is harder.
"""

import argparse
import asyncio
import dataclasses
from pathlib import Path
from typing import Any

import rlds_kit
from rlds_kit.trials import EnvironmentSpec, FinishedTrial, TrialHost, TrialSetup

STEPS = 60
TASKS = (0.02, 0.1, 0.2, 0.4, 0.8)
"""Distances from the middle: of place and speed of the cart, and of the pole."""


class SimulatedPerson:
    """Chooses tasks."""

    def __init__(self) -> None:
        self.level, self.streak = 0, 0

    def watch(self, trial: FinishedTrial) -> None:
        """Makes the task harder after three good trials, and easier after a bad one."""
        self.streak = self.streak + 1 if trial.steps == STEPS else 0
        if self.streak == 3:
            self.level, self.streak = min(self.level + 1, len(TASKS) - 1), 0
        elif trial.steps < STEPS and self.level:
            self.level -= 1

    async def set_task(self, setup: TrialSetup) -> TrialSetup:
        """The hook: the same trial with the task of now."""
        task = TASKS[self.level]
        options = {"low": -task, "high": task}
        return dataclasses.replace(setup, options=options, properties={**setup.properties, "task": self.level})


def balance(observation: Any, reward: float | None, messages: Any) -> int:
    """The agent."""
    return int(observation[2] + observation[3] > 0)


async def train(directory: Path, trials: int) -> None:
    """Runs trials one after another, as each task follows from the trials before."""
    person = SimulatedPerson()
    async with TrialHost(directory, is_here=True, hooks=[person.set_task]) as host:
        for seed in range(trials):
            setup = TrialSetup(
                environment=EnvironmentSpec("CartPole-v1"), actors={"player": balance}, seed=seed, max_steps=STEPS
            )
            person.watch(await host.result(await host.start(setup)))


def main(directory: Path, trials: int = 20) -> list[int]:
    """The tasks in order, as they were recorded."""
    asyncio.run(train(directory, trials))
    return [int(each.metadata["properties"]["task"]) for each in rlds_kit.open(directory).episodes]


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("data/set-tasks"))
    print("tasks:", *main(parser.parse_args().directory))
