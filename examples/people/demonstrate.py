"""A person demonstrates, and an agent imitates: episodes of CartPole are recorded, and a linear policy is cloned.

The person is simulated: it balances the pole, with a slip now and then.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rlds_kit
from rlds_kit.trials import ActorConfig, ActorInfo, EnvironmentSpec, TrialSetup, run_trials

STEPS = 200


class SimulatedPerson:
    """Balances the pole in the middle."""

    def reset(self, info: ActorInfo) -> None:
        """Slips at random."""
        self.random = np.random.default_rng(info.seed)

    def act(self, observation: Any, reward: float | None, messages: Any) -> int:
        """With the pole, and back to the middle."""
        right = observation @ np.array([0.1, 0.3, 1.0, 0.6]) > 0
        return int(right != (self.random.random() < 0.03))


class Linear:
    """Acts by the weights of its configuration."""

    def reset(self, info: ActorInfo) -> None:
        """Takes the weights."""
        self.weights = np.asarray(info.config["weights"])

    def act(self, observation: Any, reward: float | None, messages: Any) -> int:
        """The sign of a product."""
        return int(observation @ self.weights > 0)


def play(actor: Any, seed: int, trials: int, directory: Path | None = None) -> float:
    """The mean number of steps."""
    setup = TrialSetup(environment=EnvironmentSpec("CartPole-v1"), actors={"player": actor}, seed=seed, max_steps=STEPS)
    return float(np.mean([each.steps for each in run_trials(setup, trials, directory=directory, is_here=True)]))


def clone(directory: Path) -> list[float]:
    """Weights by least squares, from all recorded steps."""
    episodes = rlds_kit.open(directory).episodes
    observations = np.concatenate([episode["observation"][:-1] for episode in episodes])
    actions = np.concatenate([episode["action"][:-1] for episode in episodes])
    weights, *_ = np.linalg.lstsq(observations, 2.0 * actions - 1, rcond=None)
    return [float(each) for each in weights]


def main(directory: Path, demonstrations: int = 6) -> dict[str, float]:
    """Steps of the person, of its clone, and at random."""
    person = play(ActorConfig(implementation=SimulatedPerson), 1, demonstrations, directory)
    weights = clone(directory)
    return {
        "person": person,
        "clone": play(ActorConfig(implementation=Linear, config={"weights": weights}), 100, 6),
        "random": play("random", 100, 6),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("data/demonstrate"))
    for name, steps in main(parser.parse_args().directory).items():
        print(f"{name}: {steps:.0f} of {STEPS} steps")
