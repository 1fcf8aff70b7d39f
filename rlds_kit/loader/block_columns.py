"""Reads the columns of many blocks into an array that has a place for each step."""

import itertools
from dataclasses import dataclass

import numpy as np

from rlds_kit.base import rlds_kit_pb2 as pb
from rlds_kit.base.errors import DamagedError, FormatError
from rlds_kit.loader.block_map import BlockMap
from rlds_kit.loader.layout import Leaf
from rlds_kit.storage import column as columns
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted
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
    wanted = target.wanted
    row_bytes = wanted.row_bytes
    first, end = numbers[:, located.FIRST_ROW], numbers[:, located.END_ROW]
    is_found: np.ndarray = numbers[:, located.STATUS] == located.FOUND
    is_sound: np.ndarray = is_found | (numbers[:, located.STATUS] == located.ABSENT)
    is_plain = is_found & (numbers[:, located.FILTER] == pb.IDENTITY) & (numbers[:, located.CODEC] == pb.STORED)
    is_plain &= (numbers[:, located.LENGTH] == (end - first) * row_bytes) & (end <= blocks.rows(part))
    to = (blocks.base(part) + first) * row_bytes
    chosen = np.flatnonzero(is_plain)
    requests = blocks.requests(part[chosen], numbers[chosen], to[chosen])
    out = target.values.reshape(-1).view(np.uint8)
    while (done := located.read(file, requests, out, is_checked=True)) < len(requests):
        is_sound[chosen[done]] = False  # the reader of the episode raises the error
        requests, chosen = requests[done + 1 :], chosen[done + 1 :]
    coded = np.flatnonzero(is_found & ~is_plain)
    is_sound[coded] = _decode(blocks, target, file, part[coded], numbers[coded], in_place=in_place)
    return is_sound


def rows_of(blocks: BlockMap, part: np.ndarray, numbers: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """`[n]` and `[n]`: the first row of each column in the array, and the one after its last."""
    base, end = blocks.base(part), np.minimum(numbers[:, located.END_ROW], blocks.rows(part))
    return base + numbers[:, located.FIRST_ROW], base + end


def set_ranges(flags: np.ndarray, starts: np.ndarray, stops: np.ndarray) -> None:
    """Sets flags in ranges."""
    for start, stop in zip(starts.tolist(), stops.tolist(), strict=True):
        flags[start:stop] = True


def _decode(
    blocks: BlockMap, target: Target, file: ShardFile, part: np.ndarray, numbers: np.ndarray, *, in_place: bool
) -> np.ndarray:
    """Decodes columns; returns `[blocks]` bool, which of them could be decoded."""
    ends = np.cumsum(numbers[:, located.LENGTH])
    begins = ends - numbers[:, located.LENGTH]
    payloads = np.empty(int(ends[-1]) if len(ends) else 0, np.uint8)
    requests = blocks.requests(part, numbers, begins)
    read = located.read(file, requests, payloads, is_checked=True)  # the others are left to the reader of the episode
    rows = target.values.reshape(len(target.values), -1).view(np.uint8)
    wanted, view, is_sound = target.wanted, payloads.data, np.zeros(len(part), np.bool_)
    bounds = zip(begins.tolist(), ends.tolist(), blocks.base(part).tolist(), blocks.rows(part).tolist(), strict=True)
    for at, (begin, end, base, count) in enumerate(itertools.islice(bounds, read)):
        stored = wanted.layout(numbers[at])
        out = rows[base + stored.first_row : base + min(stored.end_row, count)]
        try:
            if len(out):
                decoded = out if in_place else np.empty_like(out)
                columns.decode_into(stored, view[begin:end], "", decoded)
                if not in_place:
                    out[:] = decoded
            is_sound[at] = True
        except (DamagedError, FormatError):
            continue  # it raises the error, with the place
    return is_sound
