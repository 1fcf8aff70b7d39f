"""Reads the columns of many blocks into an array that has a place for each step."""

from dataclasses import dataclass

import numpy as np

from rlds_kit.loader.block_map import BlockMap
from rlds_kit.loader.layout import Leaf
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted
from rlds_kit.storage.located_columns import LocatedColumns, read_columns
from rlds_kit.storage.shard_file import ShardFile


@dataclass(frozen=True, slots=True, eq=False)
class Target:
    """The arrays that the values of a leaf are read into.

    Attributes:
      leaf: dense: it has a spec.
      values: `[steps, *leaf.shape]`, in C order.
      defined: `[steps]` bool.
    """

    leaf: Leaf
    values: np.ndarray
    defined: np.ndarray

    @property
    def wanted(self) -> Wanted:
        """The columns of the leaf, in the form that `located` searches for."""
        return Wanted(self.leaf.path, self.leaf.dtype, self.leaf.shape)


def read_blocks(
    blocks: BlockMap, target: Target, file: ShardFile, part: np.ndarray, numbers: np.ndarray, *, in_place: bool = True
) -> np.ndarray:
    """Reads the columns of a leaf of some blocks of a shard. Which values are defined is left to the caller.

    Args:
      blocks: of all episodes.
      target: of the values.
      file: the shard.
      part: `[n]`, the blocks.
      numbers: `[n, located.NUMBERS]`, what was found of their columns.
      in_place: whether rows may have other values while they are decoded: False if other threads may read them.

    Returns:
      `[n]` bool, which of the columns were read or are absent.
    """
    is_sound: np.ndarray = numbers[:, located.STATUS] == located.ABSENT
    chosen = np.flatnonzero(numbers[:, located.STATUS] == located.FOUND)
    found = located_in(blocks, target, part[chosen], numbers[chosen])
    out = target.values.reshape(len(target.values), -1).view(np.uint8)
    is_sound[chosen] = read_columns(file, found, out, in_place=in_place)
    return is_sound


def located_in(blocks: BlockMap, target: Target, part: np.ndarray, numbers: np.ndarray) -> LocatedColumns:
    """The columns of a leaf that were found in some blocks; their places are those of its arrays."""
    base, high = blocks.base(part), blocks.rows(part)
    return LocatedColumns(target.wanted, blocks.position[part], numbers, base, np.zeros_like(high), high)


def set_ranges(flags: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> None:
    """Sets flags in ranges."""
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        flags[start:stop] = True
