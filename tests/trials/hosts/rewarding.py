"""A program that runs trials and gives rewards for steps that were done up to an hour before.

Arguments: a directory, the first letter of the trials' names, how many rewards, how many trials, and how many steps an
hour has. Prints the trial and the number of each reward that was acknowledged.
"""

import asyncio
import dataclasses
import random
import sys
from typing import NamedTuple

from rlds_kit.trials import TrialHost, TrialSetup
from tests.trials.hosts.running import PENNIES

TOGETHER = 32
RECEIVERS = ("odd", "even", "*")


class Given(NamedTuple):
    """A reward of the plan: for a step, given so many steps later."""

    number: int
    step: int
    delay: int
    seat: str
    value: float
    confidence: float
    source: str


def plan(trial: str, count: int, hour: int) -> list[Given]:
    """The rewards of a trial of an hour, in the order in which they are given; the same for the same name."""
    chance = random.Random(trial)
    found = [
        Given(
            number,
            chance.randint(1, hour - 1),
            chance.randint(0, hour),
            chance.choice(RECEIVERS),
            chance.randint(-4, 4) / 2,
            chance.choice((0.0, 0.25, 0.5, 1.0)),
            chance.choice(("ann", "bob", "eve")),
        )
        for number in range(count)
    ]
    return sorted(found, key=lambda each: each.step + each.delay)


def setup(trial: str, hour: int) -> TrialSetup:
    """An hour of two agents that act at random."""
    policies = {"odd": "random", "even": "random"}
    environment = dataclasses.replace(PENNIES, kwargs={"length": hour}, policies=policies)
    return TrialSetup(environment=environment, actors={}, trial_id=trial, seed=7)


async def judge(host: TrialHost, trial: str, rewards: list[Given], hour: int) -> None:
    """Gives the rewards of a trial, each when it is due, also after its end."""
    for first in range(0, len(rewards), TOGETHER):
        some = rewards[first : first + TOGETHER]
        due = min(hour, max(each.step + each.delay for each in some))
        while not any(state.id == trial and state.step >= due for state in host.trials()):  # noqa: ASYNC110  to watch costs more
            await asyncio.sleep(0.005)
        await asyncio.gather(*(_give(host, trial, each) for each in some))
        sys.stdout.write("".join(f"{trial} {each.number}\n" for each in some))
        sys.stdout.flush()


async def _give(host: TrialHost, trial: str, each: Given) -> None:
    details = {"number": each.number}
    about = {"source": each.source, "confidence": each.confidence, "step": each.step, "details": details}
    await host.reward(trial, each.seat, each.value, **about)  # type: ignore[arg-type]  # each has its own type


async def main(directory: str, letter: str, count: int, trials: int, hour: int) -> None:
    async with TrialHost(directory, parallel=2) as host:
        judging = []
        for number in range(trials):
            name = await host.start(setup(f"{letter}{number}", hour))
            judging.append(asyncio.create_task(judge(host, name, plan(name, count // trials, hour), hour)))
        await asyncio.gather(*judging)


if __name__ == "__main__":
    folder, prefix, *numbers = sys.argv[1:]
    asyncio.run(main(folder, prefix, *map(int, numbers)))
