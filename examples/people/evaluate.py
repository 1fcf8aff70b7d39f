"""A person evaluates agents: it sees each step, and judges it a moment later; agents are ranked by its rewards.

The person has the seat of a teacher, and never acts. It is simulated: it dislikes a pole that leans, says so five steps
later, and is not always sure. All its judgements are recorded, as a layer of the dataset.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rlds_kit
from rlds_kit.trials import ActorConfig, ActorInfo, EnvironmentSpec, Judgement, Reply, TrialSetup, run_trials

GAME = EnvironmentSpec("CartPole-v1", has_teacher=True)
DELAY = 5
"""Steps between an event and the person's judgement of it."""
AGENTS = {"careless": 0.4, "careful": 0.0, "average": 0.2}
"""The agents, with their shares of mistakes."""


class Balancer:
    """Goes with the pole, and makes mistakes."""

    def reset(self, info: ActorInfo) -> None:
        """Its configuration says how many."""
        self.mistakes, self.random = info.config["mistakes"], np.random.default_rng(info.seed)

    def act(self, observation: Any, reward: float | None, messages: Any) -> int:
        """With the pole, or the other way."""
        right = bool(observation[2] + observation[3] > 0)
        return int(right != (self.random.random() < self.mistakes))


class SimulatedPerson:
    """Sees the pole, and judges steps."""

    def reset(self, info: ActorInfo) -> None:
        """Has seen nothing yet."""
        self.leans: list[float] = []

    def act(self, observation: Any, reward: float | None, messages: Any) -> Reply:
        """No action, and a reward for the step that led to what it saw five steps ago."""
        self.leans.append(abs(float(observation[2])))
        step = len(self.leans) - 1 - DELAY
        if step < 1:
            return Reply(None)
        lean = self.leans[step]
        confidence = 1.0 if lean > 0.05 else 0.5
        return Reply(None, rewards=(Judgement("player", -lean, confidence, step),))


def evaluate(directory: Path, mistakes: float, trials: int) -> float:
    """The mean judgement of an agent; steps that the person did not judge are left out."""
    balancer = ActorConfig(implementation=Balancer, config={"mistakes": mistakes})
    setup = TrialSetup(environment=GAME, actors={"player": balancer, "teacher": SimulatedPerson}, seed=1, max_steps=100)
    list(run_trials(setup, trials, directory=directory, is_here=True))
    episodes = rlds_kit.open(directory).as_amended("judgements").episodes
    rewards = np.concatenate([episode["reward"][:-1] for episode in episodes])
    return float(np.mean(rewards[rewards <= 0]))


def main(directory: Path, trials: int = 4) -> dict[str, float]:
    """Agents with their mean judgement, the best first."""
    found = {name: evaluate(directory / name, mistakes, trials) for name, mistakes in AGENTS.items()}
    return dict(sorted(found.items(), key=lambda each: -each[1]))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("data/evaluate"))
    for agent, value in main(parser.parse_args().directory).items():
        print(f"{agent}: {value:.4f}")
