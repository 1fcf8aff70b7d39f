"""A small field, the values of which are cached at all steps that were read."""

import numpy as np

from rlds_kit.loader.block_columns import Target, located_in, read_blocks, set_ranges
from rlds_kit.loader.block_map import BlockMap, Steps
from rlds_kit.loader.field_cache import taken
from rlds_kit.loader.layout import Leaf
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.shard_file import ShardFile


class CachedLeaf:
    """The values of a leaf at all steps. Several threads may read the same blocks: they write the same values.

    Args:
      blocks: of all episodes.
      leaf: as it is stored.
    """

    def __init__(self, blocks: BlockMap, leaf: Leaf) -> None:
        self._blocks, steps = blocks, int(blocks.source.lengths.sum())
        values = np.zeros((steps, *leaf.shape), leaf.dtype)  # memory is only taken for what is written
        self._target = Target(leaf, values, np.zeros(steps, np.bool_))

    @property
    def wanted(self) -> Wanted:
        """The columns of the leaf."""
        return self._target.wanted

    def learn(self, file: ShardFile, part: np.ndarray, numbers: np.ndarray) -> np.ndarray:
        """Reads the columns of some blocks of a shard.

        Args:
          file: the shard.
          part: `[n]`, the blocks.
          numbers: `[n, located.NUMBERS]`, what was found of their columns.

        Returns:
          `[n]` bool, of which blocks steps can be read.
        """
        is_sound = read_blocks(self._blocks, self._target, file, part, numbers, in_place=False)
        read = np.flatnonzero(is_sound & (numbers[:, located.STATUS] == located.FOUND))
        set_ranges(self._target.defined, *located_in(self._blocks, self._target, part[read], numbers[read]).places)
        return is_sound

    def has(self, at: Steps) -> np.ndarray:
        """`[n]` bool, at which steps there is a value in the blocks that were read."""
        found: np.ndarray = self._target.defined[at.steps.reshape(-1)]
        return found

    def take(self, at: Steps) -> tuple[np.ndarray, np.ndarray]:
        """Copies values.

        Returns:
          `[n, *leaf.shape]`, and `[n]` bool, which are defined; undefined ones are zeros.
        """
        return taken(self._target.values, at.steps.reshape(-1)), self.has(at)
