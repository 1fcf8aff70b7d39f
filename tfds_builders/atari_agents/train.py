"""The command that trains a policy for a game: `python -m rlds_kit.tfds_builders.atari_agents.train --game freeway`."""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rlds_kit.tfds_builders.atari_agents import evaluate, policy
from rlds_kit.tfds_builders.atari_agents.cross_entropy import Generation
from rlds_kit.tfds_builders.atari_agents.policy import Policy
from rlds_kit.tfds_builders.atari_agents.training import TRAININGS, Training, train_policy

_EVALUATION_SEEDS = range(10_000, 10_020)
"""Far from those of training, which count up from the seed."""


def main(arguments: Sequence[str] | None = None) -> None:
    """The command."""
    parser = argparse.ArgumentParser(prog="python -m rlds_kit.tfds_builders.atari_agents.train", description=__doc__)
    parser.add_argument("--game", required=True, help="in snake_case, such as freeway")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--output", type=Path, default=Path(__file__).parent / "checkpoints")
    given = parser.parse_args(arguments)

    def report(generation: Generation) -> None:
        scores = generation.scores
        sys.stderr.write(f"generation {generation.number}: mean {scores.mean():.1f}, best {scores.max():.1f}\n")

    learned = train_policy(given.game, TRAININGS.get(given.game, Training()), given.seed, report)
    learned.save(given.output / f"{given.game}.npz")
    players: dict[str, Policy] = {"random": policy.random, "learned": learned}
    for name, each in players.items():
        got = evaluate.returns(given.game, each, _EVALUATION_SEEDS)
        sys.stderr.write(f"{name}: {got.mean():.1f} +- {got.std(ddof=1) / len(got) ** 0.5:.1f}, {len(got)} episodes\n")


if __name__ == "__main__":
    main()
