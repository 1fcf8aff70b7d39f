"""A program that amends steps for a long time and prints what was acknowledged: DATASET SOURCE SEED COUNT.

The seed determines its annotations, so that a test can compute them.
"""

import random
import sys
import time
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import rlds_kit
from rlds_kit import layers


class Insert(NamedTuple):
    """A reward for a step, or the retraction of an earlier insert."""

    episode: int
    step: int
    value: float
    confidence: float
    retracts: int | None


def inserts(seed: int, count: int, episodes: int, length: int) -> Iterator[Insert]:
    """The annotations of one program, in order; steps of any age, some of them repeatedly."""
    rng = random.Random(seed)
    rewards: list[int] = []
    for number in range(count):
        if rewards and rng.random() < 0.02:
            yield Insert(0, 0, 0.0, 1.0, rng.choice(rewards))
            continue
        rewards.append(number)
        confidence = rng.choice((0.0, 0.25, 0.5, 1.0))
        yield Insert(rng.randrange(episodes), rng.randrange(length - 1), rng.randrange(-8, 9) / 4, confidence, None)


def main(path: Path, source: str, seed: int, count: int) -> None:
    """Inserts, in batches of random size after random delays; prints how many are acknowledged after each."""
    dataset = rlds_kit.open(path)
    ids = [episode.id for episode in dataset.episodes]
    rng, made = random.Random(seed + 1), list[uuid.UUID]()
    writer, left = dataset.annotator("human", source=source), 0
    for insert in inserts(seed, count, len(ids), dataset.episodes[0].length):
        if not left:
            writer.flush()
            print(len(made), flush=True)
            time.sleep(rng.random() / 500)
            left = rng.randrange(1, 400)
        if insert.retracts is not None:
            made.append(writer.add(layers.retraction(made[insert.retracts])))
        else:
            drafted = layers.reward(ids[insert.episode], insert.value, insert.step, confidence=insert.confidence)
            made.append(writer.add(drafted))
        left -= 1
    writer.close()
    print(len(made), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
