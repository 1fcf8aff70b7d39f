"""Running hashes of all leaves of an episode whose blocks come one after the other, in C, for many episodes at once.

Without C, and where rows do not follow each other, or columns change, `EpisodeDigest` has an object for each leaf.
"""

from collections.abc import Iterator
from typing import Final, NamedTuple

import numpy as np

from rlds_kit.storage import block
from rlds_kit.storage.running_hash import RunningHash

IS_THERE: Final = hasattr(block.native, "add_values") and bool(RunningHash().state)
"""Whether there are such states; their hashes must become those of `running_hash`, which is in another extension."""
_LEAF_BYTES: Final = 16 + len(RunningHash().state)


class StateColumn(NamedTuple):
    """A column of many blocks: its bytes, and the spans of `lane_pieces.Pieces`."""

    data: np.ndarray
    spans: bytes


class Layout(NamedTuple):
    """What a digest has of a leaf beside rows: what is before its hashes, and the shape of a value."""

    head: bytes
    shape: bytes


def new_state(leaves: int) -> bytearray:
    """The state of leaves without rows."""
    return bytearray(_LEAF_BYTES * leaves)


def add_values(columns: list[StateColumn], numbers: np.ndarray, states: list[bytearray]) -> bytes:
    """Adds the values of blocks to the states of their episodes.

    Args:
      columns: of the blocks, one for each leaf.
      numbers: `[episodes]` int64, which block.
      states: of the episodes.

    Returns:
      A byte of each; 0: nothing was added, because its rows do not follow those of the state.
    """
    found: bytes = block.native.add_values(columns, numbers, states)  # type: ignore[union-attr]
    return found


def hashes_of(layouts: list[Layout], state: bytearray) -> bytes:
    """What a digest is made of, beside messages: of each leaf with rows, in the order of columns."""
    found: bytes = block.native.hashes_of_states(layouts, state)  # type: ignore[union-attr]
    return found


def leaves_of(state: bytearray) -> Iterator[tuple[int, int, RunningHash]]:
    """Of each leaf the first row, one past the last, and the hash of the values."""
    for first, stop, hashed in block.native.leaves_of(state):  # type: ignore[union-attr]
        running = RunningHash()
        running.state[:] = hashed
        yield first, stop, running
