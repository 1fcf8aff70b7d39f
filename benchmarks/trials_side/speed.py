"""Ticks a second of a trial with four actors, and how soon they answer."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import rlds_kit
from rlds_kit.logger import PettingZooLogger
from rlds_kit.trials import EnvironmentSpec, TrialSetup, run_trials
from trials_side.players import ENVIRONMENT, SEATS, Quad, scripted


@dataclass
class Speed:
    """What was measured.

    Attributes:
      ticks: steps of the environment a second, each with an action of all four.
      answers: milliseconds until an actor answered, median and 99th percentile; None: they were not measured.
    """

    ticks: float
    answers: tuple[float, float] | None = None


def bare(steps: int, directory: Path | None) -> Speed:
    """A loop of PettingZoo that calls the actors, recorded or not."""
    env: Any = Quad() if directory is None else PettingZooLogger(Quad(), directory)
    observations, _ = env.reset(seed=1)
    rewards: dict[str, float] = {}
    begin = time.perf_counter()
    for _ in range(steps):
        actions = {agent: scripted(observations[agent], rewards.get(agent), ()) for agent in SEATS}
        observations, rewards, *_ = env.step(actions)
    seconds = time.perf_counter() - begin
    env.close()
    return Speed(steps / seconds)


def trial(steps: int, directory: Path | None, options: Mapping[str, Any]) -> Speed:
    """A trial; the one before it has started the processes."""
    setup = TrialSetup(
        environment=EnvironmentSpec(ENVIRONMENT, interface="pettingzoo"),
        actors=dict.fromkeys(SEATS, scripted),
        seed=1,
    )
    times: list[float] = []

    def setups() -> Any:
        for limit in (20, steps):
            yield TrialSetup(environment=setup.environment, actors=setup.actors, seed=1, max_steps=limit)

    for done in run_trials(setups(), directory=directory, parallel=1, **options):
        if done.error is not None or done.steps not in {20, steps}:
            raise RuntimeError(done.reason)
        times.append(time.perf_counter())
    return Speed(steps / (times[1] - times[0]), None if directory is None else answers(directory))


def answers(directory: Path) -> tuple[float, float]:
    """Milliseconds between requests to actors and their answers, median and 99th percentile."""
    longest = max(rlds_kit.open(directory).episodes, key=lambda episode: episode.length)
    clocks = [step["trial_clock"] for step in list(longest.steps)[:-1]]
    found = [each[seat]["answered_ns"] - each[seat]["requested_ns"] for each in clocks for seat in SEATS]
    median, late = np.percentile(found, (50, 99)) / 1e6
    return float(median), float(late)
