"""Reads steps anywhere in a dataset: without decoding what is stored as it is, and with a cache of the rest."""

import functools
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np

from rlds_kit.loader.block_map import BlockMap, Steps, block_map
from rlds_kit.loader.cached_leaf import CachedLeaf
from rlds_kit.loader.layout import Leaf, layout, nested
from rlds_kit.loader.pool import Layouts, Nest, cast
from rlds_kit.loader.shared_cache import SharedCache, native
from rlds_kit.loader.source import Source
from rlds_kit.loader.stored_leaf import NotFoundError, StoredLeaf
from rlds_kit.storage import located
from rlds_kit.storage.located import Wanted

_UNKNOWN, _KNOWN, _OTHER = range(3)
"""What is known about a block: nothing; where its columns are; that only `EpisodeReader` can read it."""
_SAMPLE: Final = 32
"""Blocks from which the size of all columns in the cache is estimated."""
_CACHED_SHARE: Final = 4
"""The smallest leaves, whose values at all steps together take less than this part of the cache, are `CachedLeaf`; and
so are those of very short blocks, which take less than where they are."""
_WORTH_POOLS: Final = 4
"""A pool that decodes each block for at least so many samples is quicker than decoding it again for each."""


class RowReader:
    """Reads steps of a source by their numbers. Thread-safe. A pickled copy has read nothing.

    Args:
      source: of the steps.
      layouts: the leaves of every field.
      limit: bytes of the cache of decoded columns, which forked processes share.
    """

    def __init__(self, source: Source, layouts: Layouts, limit: int) -> None:
        self._source, self._layouts, self._limit = source, layouts, limit
        stored = self._findable()
        # Made here and not when first needed, because threads that need it at the same time would make it twice.
        self._blocks = block_map(source) if stored and native is not None else None
        self._leaves = {} if self._blocks is None else self._made(self._blocks, stored)
        self._first_steps = np.empty(0, np.int64) if self._blocks is None else self._blocks.first_steps()
        self._state = np.zeros(len(self._first_steps), np.uint8)

    def __reduce__(self) -> tuple[type["RowReader"], tuple[Source, Layouts, int]]:
        return RowReader, (self._source, self._layouts, self._limit)

    def _findable(self) -> Mapping[Leaf, Leaf]:
        """Every leaf as it is stored; none if one must be read by `Pool`."""
        recorded = {leaf.path: leaf for name in self._layouts for leaf in layout(self._source.spec, name, {})}
        found = {leaf: recorded[leaf.path] for leaves in self._layouts.values() for leaf in leaves}
        for each in found.values():
            if each.spec is None or not Wanted(each.path, each.dtype, each.shape).is_findable:
                return {}
        return found if len(found) <= located.MOST_LEAVES else {}

    def _made(self, blocks: BlockMap, stored: Mapping[Leaf, Leaf]) -> Mapping[Leaf, CachedLeaf | StoredLeaf]:
        """Makes the reader of each leaf; all values of the smallest leaves are cached."""
        steps, found = int(self._source.lengths.sum()), dict[Leaf, CachedLeaf | StoredLeaf]()
        left, cache = self._limit // _CACHED_SHARE, SharedCache(self._limit)
        for index, (leaf, each) in sorted(enumerate(stored.items()), key=lambda item: item[1][1].row_bytes):
            size = steps * (each.row_bytes + 1)  # and the flag whether there is a value
            left -= size
            if left >= 0 or size <= len(blocks) * StoredLeaf.BLOCK_BYTES:
                found[leaf] = CachedLeaf(blocks, each)
            else:
                found[leaf] = StoredLeaf(blocks, each, cache, key=index, step=len(stored), limit=self._limit)
        return found

    def _required(self) -> BlockMap:
        if self._blocks is None:
            raise NotFoundError
        return self._blocks

    @property
    def is_able(self) -> bool:
        """Whether any step can be read."""
        return self._blocks is not None

    @property
    def is_quick(self) -> bool:
        """Whether reading any steps is quick: they are stored as they are, or all columns fit into the cache."""
        return self._cached_bytes is not None and self._cached_bytes <= self._limit * (1 - 1 / _CACHED_SHARE)

    @property
    def uses_cache(self) -> bool:
        """Whether columns are cached, estimated: not if all are stored as they are, or would be cached in vain."""
        return self._cached_bytes is not None and any(
            each.uses_cache(self._sample) for each in self._leaves.values() if isinstance(each, StoredLeaf)
        )

    def is_quicker_than_pools(self, samples: int) -> bool:
        """Whether reading any steps at once is quicker than a `Pool` that decodes each block for many samples.

        Args:
          samples: of a pool.
        """
        if self._blocks is None or self._cached_bytes is None:
            return False
        # Batches with steps of blocks that are not mapped are read by pools of their own.
        return self.is_quick or (samples < _WORTH_POOLS * len(self._blocks) and bool(self._blocks.mapped.all()))

    @functools.cached_property
    def _sample(self) -> np.ndarray:
        """Some blocks, from which properties of all are estimated."""
        return np.unique(np.linspace(0, len(self._first_steps) - 1, _SAMPLE).astype(np.int64))

    @functools.cached_property
    def _cached_bytes(self) -> float | None:
        """Bytes of all columns in the cache, estimated; None: some can only be read by `Pool`."""
        if self._blocks is None:
            return None
        try:
            self._learn(self._sample)
        except NotFoundError:
            return None
        sizes = [each.cache_bytes(self._sample) for each in self._leaves.values() if isinstance(each, StoredLeaf)]
        return sum(sizes) / len(self._sample) * len(self._blocks)

    def leaves_of(self, name: str) -> tuple[Leaf, ...]:
        """The leaves of a field."""
        return self._layouts[name]

    def locate(self, steps: np.ndarray) -> Steps:
        """Finds the columns of steps, `[...]` int64.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        blocks = self._required()
        flat = steps.reshape(-1)
        block = np.searchsorted(self._first_steps, flat, "right") - 1
        row = flat - blocks.base(block)
        end = np.minimum(blocks.rows(block), blocks.end_row[block].astype(np.int64))
        if len(block) and (block.min() < 0 or (row >= end).any()):
            raise NotFoundError  # steps of an episode that is not mapped
        self._learn(block)
        return Steps(steps, block, row)

    def _learn(self, wanted: np.ndarray) -> None:
        """Finds the columns of blocks, `[n]`, of which nothing is known yet.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        state = self._state[wanted]
        if (state == _UNKNOWN).any():
            blocks, leaves = self._required(), [*self._leaves.values()]
            for file, part in blocks.parts(np.unique(wanted[state == _UNKNOWN])):
                table = located.locate(file, blocks.places(part), [each.wanted for each in leaves])
                sound = [each.learn(file, part, table[:, number]) for number, each in enumerate(leaves)]
                self._state[part] = np.where(np.all(sound, axis=0), _KNOWN, _OTHER)
            state = self._state[wanted]
        if (state != _KNOWN).any():
            raise NotFoundError

    def take(self, leaf: Leaf, at: Steps) -> tuple[np.ndarray, np.ndarray]:
        """The values of a leaf.

        Returns:
          `[..., *leaf.shape]`, and `[...]` bool, which are defined; undefined ones are zeros.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        found = self._leaves[leaf]
        is_here = found.has(at)
        if not is_here.all():  # the action of a step may be in the next block, with the observation after it
            self._learn(self._required().following(at.block[~is_here]))
        values, defined = found.take(at)
        shape = at.steps.shape
        return cast(leaf, values.reshape(*shape, *values.shape[1:])), defined.reshape(shape)


class Session:
    """Reads the fields of one batch: each once, although parts of it are requested one after the other.

    Args:
      reader: of the steps.
      needs: by field, `[B]` or `[B, k]` int64, all steps at which it is requested.
    """

    def __init__(self, reader: RowReader, needs: Mapping[str, np.ndarray]) -> None:
        self._reader, self._needs = reader, needs
        self._latest = reader.locate(np.empty(0, np.int64))
        self._values: dict[str, Mapping[Leaf, tuple[np.ndarray, np.ndarray]]] = {}

    def take(self, name: str, steps: np.ndarray) -> tuple[Nest, Nest]:
        """Values of a field at steps of any shape `[...]`: the same as those of `Pool.take`.

        Raises:
          NotFoundError: some must be read by `Pool`.
        """
        needs, leaves = self._needs[name], self._reader.leaves_of(name)
        if needs.ndim == 2 and steps.ndim == 1 and needs.shape[1] > 1:  # one of the steps of each sample
            if name not in self._values:
                self._values[name] = self._read(leaves, np.ascontiguousarray(needs.T))
            column = next(at for at, each in enumerate(needs.T) if np.array_equal(each, steps))
            found = {
                leaf: (values[column], is_there[column]) for leaf, (values, is_there) in self._values[name].items()
            }
        else:
            found = dict(self._read(leaves, steps))
        return nested(leaves, lambda leaf: found[leaf][0]), nested(leaves, lambda leaf: found[leaf][1])

    def _read(self, leaves: Sequence[Leaf], steps: np.ndarray) -> Mapping[Leaf, tuple[np.ndarray, np.ndarray]]:
        if not np.array_equal(self._latest.steps, steps):  # most fields have the same steps, which are found once
            self._latest = self._reader.locate(steps)
        return {leaf: self._reader.take(leaf, self._latest) for leaf in leaves}
