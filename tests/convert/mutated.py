"""Files that are not what they should be."""

import itertools
import random
from collections.abc import Callable, Iterator
from pathlib import Path

from rlds_kit.base.errors import RldsKitError
from rlds_kit.convert import formats
from rlds_kit.convert.episode_content import content_of
from rlds_kit.riegeli import RiegeliError

EPISODES = 20
"""That are read of a mutated dataset at most."""


def mutated(data: bytes, chance: random.Random) -> bytes:
    """Bytes changed, the end cut off, or a piece removed, repeated or put elsewhere."""
    changed = bytearray(data)
    begin = chance.randrange(len(data))
    piece = data[begin : begin + chance.choice([1, 4, 16, 200])]
    match chance.randrange(6):
        case 0:
            return data[:begin]
        case 1:
            return data[:begin] + data[begin + len(piece) :]
        case 2:
            place = chance.randrange(len(data))
            return data[:place] + piece + data[place:]
        case 3:
            place = chance.randrange(len(data))
            return data[:place] + piece + data[place + len(piece) :]
    for _ in range(chance.choice([1, 2, 5, 20])):
        changed[chance.randrange(len(changed))] = chance.choice([0, 1, 0x7F, 0x80, 0xFF, chance.randrange(256)])
    return bytes(changed)


def read_mutations(
    source: Path, kind: str, files: dict[Path, Callable[[bytes, random.Random], bytes]], count: int, seed: int = 7
) -> Iterator[str]:
    """Mutates one file after the other, reads the dataset, and yields the outcome.

    Args:
      source: a dataset.
      kind: name of its format.
      files: that are mutated, and how.
      count: of mutations.
      seed: of chance.

    Yields:
      The name of the error, or "read".
    """
    chance = random.Random(seed)
    good = {path: path.read_bytes() for path in files}
    for path in itertools.islice(itertools.cycle(sorted(good)), count):
        path.write_bytes(files[path](good[path], chance))
        try:
            for episode in itertools.islice(formats.named(kind).open(source), EPISODES):
                content_of(episode)
        except (RldsKitError, RiegeliError) as error:
            yield type(error).__name__
        else:
            yield "read"
        path.write_bytes(good[path])
