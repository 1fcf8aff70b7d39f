"""A person teaches: it watches an agent, and overrides its actions where the pole is about to fall (HG-DAgger).

Each step records what the agent proposed, what was done, and whether the person intervened. After each round the agent
learns from the steps in which it did, so that it needs the person less and less. The person is simulated.
"""

import argparse
from pathlib import Path
from typing import Any

import numpy as np

import rlds_kit
from rlds_kit.trials import ActorConfig, ActorInfo, EnvironmentSpec, TrialSetup, run_trials

GAME = EnvironmentSpec("CartPole-v1", has_teacher=True)
EXPERT = np.array([0.1, 0.3, 1.0, 0.6])


class Novice:
    """Acts by the weights of its configuration."""

    def reset(self, info: ActorInfo) -> None:
        """Takes the weights."""
        self.weights = np.asarray(info.config["weights"])

    def act(self, observation: Any, reward: float | None, messages: Any) -> int:
        """The sign of a product."""
        return int(observation @ self.weights > 0)


def simulated_teacher(observation: Any, reward: float | None, messages: Any) -> Any:
    """Overrides where the pole leans, or soon will."""
    if abs(observation[2] + 0.5 * observation[3]) < 0.05:
        return None
    return {"active": 1, "action": int(observation @ EXPERT > 0)}


def teach(directory: Path, weights: list[float], trials: int) -> tuple[np.ndarray, np.ndarray]:
    """Plays a round; returns observations and actions of the steps in which the teacher corrected the agent."""
    setup = TrialSetup(
        environment=GAME,
        actors={
            "player": ActorConfig(implementation=Novice, config={"weights": weights}),
            "teacher": simulated_teacher,
        },
        seed=1,
        max_steps=100,
    )
    list(run_trials(setup, trials, directory=directory, is_here=True))
    episodes = rlds_kit.open(directory).episodes
    observations = np.concatenate([each["observation"][:-1] for each in episodes])
    actions = np.concatenate([each["action"][:-1] for each in episodes])
    corrected = np.concatenate([each["intervention"][:-1] for each in episodes])
    return observations[corrected], actions[corrected]


def main(directory: Path, rounds: int = 3, trials: int = 3) -> list[float]:
    """The share of steps, by round, in which the agent proposed another action than the one that was done."""
    weights, seen, done, shares = [0.0, 0.0, -1.0, 0.0], [], [], []
    for number in range(rounds):
        observations, actions = teach(directory / f"round-{number}", weights, trials)
        seen.append(observations)
        done.append(actions)
        episodes = rlds_kit.open(directory / f"round-{number}").episodes
        wrong = [each["proposal"][:-1] != each["action"][:-1] for each in episodes]
        shares.append(float(np.mean(np.concatenate(wrong))))
        fitted, *_ = np.linalg.lstsq(np.concatenate(seen), 2.0 * np.concatenate(done) - 1, rcond=None)
        weights = [float(each) for each in fitted]
    return shares


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--directory", type=Path, default=Path("data/teach-and-override"))
    for number, share in enumerate(main(parser.parse_args().directory)):
        print(f"round {number}: {share:.1%} of the steps were corrected")
