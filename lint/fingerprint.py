"""A fingerprint of an episode's course, without decoding all of its observations."""

from typing import Final

import numpy as np
import xxhash

from rlds_kit.base.step import ACTION, REWARD
from rlds_kit.lint.leaf import content
from rlds_kit.lint.subject import SubjectEpisode

SHORTEST: Final = 8
"""Actions; two shorter episodes may well be equal by chance."""
_ROWS: Final = 1 << 14
_KEY: Final = "fingerprint"


def fingerprint(episode: SubjectEpisode) -> bytes:
    """A digest of all actions and rewards and of the first and last observation.

    Where an environment is deterministic, that is all there is to an episode; where it is not, two that share all of it
    share the rest. Empty where there is no action.
    """
    if _KEY not in episode.memory:
        episode.memory[_KEY] = _made(episode)
    found: bytes = episode.memory[_KEY]
    return found


def _made(episode: SubjectEpisode) -> bytes:
    if episode.actions < 1 or not episode.first:
        return b""
    total = xxhash.xxh3_128(f"{episode.actions}".encode())
    for begin in range(0, episode.length, _ROWS):
        leaves = episode.leaves(_is_acted, begin, min(begin + _ROWS, episode.length))
        for path, leaf in sorted(leaves.items()):
            values = map(content, leaf.values) if leaf.kind == "O" else [np.ascontiguousarray(leaf.values).tobytes()]
            total.update(path.encode())
            for each in values:
                total.update(each)
    for observation in (episode.first, episode.last):
        for path, data in sorted(observation.items()):
            total.update(path.encode())
            total.update(data)
    return total.digest()


def _is_acted(path: str) -> bool:
    return path.partition("/")[0] in (ACTION, REWARD)
