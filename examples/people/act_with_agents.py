"""A person and a program cooperate: two agents have to cover two landmarks (PettingZoo's simple spread, of mpe2).

The person is simulated: it sees where it should go with a delay, and sometimes hesitates. In its place, the
implementation "remote" of a service takes any program, and the studio takes people in browsers.
"""

import argparse
from collections import deque
from pathlib import Path
from typing import Any

import numpy as np

from rlds_kit.trials import ActorConfig, ActorInfo, EnvironmentSpec, TrialSetup, run_trials

GAME = EnvironmentSpec("mpe2.simple_spread_v3:parallel_env", interface="pettingzoo", kwargs={"N": 2, "max_cycles": 25})


def towards(observation: Any, landmark: int) -> int:
    """The action that goes to a landmark: its place relative to the agent is behind the agent's own four numbers."""
    x, y = observation[4 + 2 * landmark : 6 + 2 * landmark]
    if max(abs(x), abs(y)) < 0.1:
        return 0
    return (2 if x > 0 else 1) if abs(x) > abs(y) else (4 if y > 0 else 3)


class Partner:
    """Goes to its own landmark."""

    def reset(self, info: ActorInfo) -> None:
        """Takes the landmark of its number."""
        self.landmark = int(info.seat[-1])

    def act(self, observation: Any, reward: float | None, messages: Any) -> int:
        """A step towards it."""
        return towards(observation, self.landmark)


class SimulatedPerson(Partner):
    """Does the same with a delay of two steps, and hesitates now and then."""

    def reset(self, info: ActorInfo) -> None:
        """Has seen nothing yet."""
        super().reset(info)
        self.random, self.seen = np.random.default_rng(info.seed), deque[Any](maxlen=3)

    def act(self, observation: Any, reward: float | None, messages: Any) -> int:
        """What was right two steps ago."""
        self.seen.append(observation)
        return 0 if self.random.random() < 0.1 else super().act(self.seen[0], reward, messages)


def play(directory: Path, person: Any, trials: int) -> float:
    """The mean return of the team."""
    setup = TrialSetup(environment=GAME, actors={"agent_0": person, "agent_1": Partner}, seed=1)
    totals = [sum(each.totals.values()) for each in run_trials(setup, trials, directory=directory, is_here=True)]
    return float(np.mean(totals))


def main(directory: Path, trials: int = 8) -> dict[str, float]:
    """Plays with a simulated person, and with a random actor."""
    return {
        "with a person": play(directory / "person", ActorConfig(implementation=SimulatedPerson), trials),
        "at random": play(directory / "random", "random", trials),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("data/act-with-agents"))
    for name, value in main(parser.parse_args().directory).items():
        print(f"{name}: the team's return is {value:.1f}")
